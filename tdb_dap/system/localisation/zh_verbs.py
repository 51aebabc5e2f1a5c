"""Simplified Chinese of the console's verbs: their help, and what people of gdb are answered."""

TEXTS = {
    # Titles of help
    "Run and step": "运行和单步",
    "Breakpoints": "断点",
    "Look at values": "查看数值",
    "Call stack": "调用栈",
    "Find what is wrong": "查找问题",
    "Writers, watches and edits": "写入者、监视与编辑",
    "Ask about the whole run": "询问整个运行过程",
    "Session": "会话",
    "From plugins": "来自插件",
    'Anything else is an expression: %16, in[0], max(abs(in[0] - ref(in[0]))), #loc("x"), R0:f32[64]': (
        '其他输入均为表达式：%16, in[0], max(abs(in[0] - ref(in[0]))), #loc("x"), R0:f32[64]'
    ),
    "list the verbs, or explain one": "列出全部命令，或说明一个命令",
    # Running
    "go back to the first command": "回到第一条命令",
    "run from the first command to the next stop or the end": "从第一条命令运行到下一个停止点或终点",
    "run to the next stop or the end": "运行到下一个停止点或终点",
    "run back to the previous stop or the start": "反向运行到上一个停止点或起点",
    "step K ops, or to the end of the slice, group, launch or token": (
        "前进 K 个 op，或到切片、组、启动或 token 的末尾"
    ),
    "do the same, backward": "同上，方向相反",
    "step K commands": "前进 K 条命令",
    "step K commands back": "后退 K 条命令",
    "go to the moment when N commands are executed, to a launch, a token or a command": (
        "到已执行 N 条命令的时刻，或到某次启动、某个 token、某条命令"
    ),
    "end the session": "结束会话",
    # Breakpoints
    "stop at line 31, conv.normal, tpu.Load, B23, R4.64, %173, asm:7 ...; or list all": (
        "在第 31 行、conv.normal、tpu.Load、B23、R4.64、%173、asm:7 等处停止；不带参数时列出全部"
    ),
    "set a breakpoint for one stop only": "设置只停止一次的断点",
    "remove breakpoints": "删除断点",
    "enable breakpoints": "启用断点",
    "disable breakpoints": "禁用断点",
    # Looking
    "show commands, source, registers, memory, breakpoints ...": "显示命令、源码、寄存器、内存、断点等",
    "print the value of an expression, all operands or results, this command or the last one": (
        "显示表达式的值、全部操作数或结果、当前命令或上一条命令"
    ),
    "print bytes of memory: x R4.64 32, x G4096": "显示内存字节：x R4.64 32, x G4096",
    # Frames
    "print the call stack, innermost frame first; => marks the frame of expressions": (
        "显示调用栈，最内层的帧在前；=> 标出表达式所用的帧"
    ),
    "print the frame of expressions, or select another one until the next stop": (
        "显示表达式所用的帧；或选择另一个帧，直到下次停止"
    ),
    "select the frame K levels further out": "选择向外 K 层的帧",
    "select the frame K levels further in": "选择向内 K 层的帧",
    "run to the end of the layer group, outside of groups of the subnet": ("运行到层组的末尾，在组之外则到子网的末尾"),
    "run to a place, by default to the next op; leaves no breakpoint": ("运行到某处，默认到下一个 op；不留下断点"),
    # Finding what is wrong
    "compare every op so far with the reference: verdicts by line, failed ops, all numbers, one op": (
        "将到目前为止的每个 op 与参考数据比较：按行的结论、不一致的 op、全部数值、单个 op"
    ),
    'run everything with sanitizers: all, hazard, "saturate: 5%" ...; then come back': (
        '用检测器运行全部命令：all, hazard, "saturate: 5%" ...；然后回到此处'
    ),
    "explain an op through all levels of compilation, or a command; by default the command in focus": (
        "说明某个 op 在各编译阶段的样子，或说明一条命令；默认为当前命令"
    ),
    "estimate times: engines, ops by share, memory in use": "估算时间：各引擎、按占比排列的 op、内存占用",
    "print the tokens of a language model so far, and the mismatches in each": (
        "显示语言模型到目前为止的 token，以及每个 token 中的不一致"
    ),
    "print the K likeliest tokens by the last computed logits": "按最近算出的 logits 显示概率最高的 K 个 token",
    "print the positions that each head of an attention attends to most": "显示注意力算子中每个 head 最关注的位置",
    # Time travel
    "overwrite a tensor, a slice or an element; undo reverts it": "改写张量、切片或元素；undo 撤销",
    "find the last command that wrote it, and the writers of its operands": (
        "查找最后写入它的命令，以及该命令各操作数的写入者"
    ),
    "stop after commands that access it": "在访问它的命令之后停止",
    "go back to the moment of the last edit, and revert it": "回到最近一次编辑的时刻，并撤销该编辑",
    "continue at command N with the memories unchanged": "从命令 N 继续执行，内存保持现状",
    "change the next command; show the effects up to command N": "修改下一条命令；显示到命令 N 为止的影响",
    # The whole run
    "print values at every place of the run, past and future: trace max(out[0]) at tpu.Conv2D": (
        "显示整个运行过程（过去和将来）各处的数值：trace max(out[0]) at tpu.Conv2D"
    ),
    "find when a condition turns true over the whole run: first, last, and until when": (
        "查找条件在整个运行过程中何时成立：首次、末次，以及持续到何时"
    ),
    "list the tensors x of the whole run with a property: where max(abs(x)) > 6e4; alone: the call stack": (
        "列出整个运行过程中具有某一性质的张量 x：where max(abs(x)) > 6e4；不带参数时显示调用栈"
    ),
    "list all contents of a tensor, slice or address over the run, with writer and readers": (
        "列出张量、切片或地址在整个运行过程中的全部内容，及其写入者和读取者"
    ),
    # Session
    "show an expression or verb after each stop, or list them": "每次停止后显示一个表达式或命令；不带参数时列出全部",
    "remove a display, by default all": "移除一个显示项，默认移除全部",
    "show the progress of the program and the session's settings": "显示程序的进度和会话的设置",
    "write tensors, by default those of this op": "写出张量，默认为此 op 的张量",
    "reload the model from disk, or with other data, and stop at its start; quote spaces": (
        "从磁盘重新加载模型，或换用其他数据，并停在起点；含空格的名称请加引号"
    ),
    'evaluate Python (dbg is the debugger); needs "allowPython": true at launch': (
        '执行 Python（dbg 为调试器）；需要在启动配置中设置 "allowPython": true'
    ),
    "list installed plugins": "列出已安装的插件",
    "let an agent attach to this session: print the options to start it with": (
        "允许智能体连接到此会话：显示启动它所需的选项"
    ),
    # Words of gdb
    "reload loads the model again; another model is another session": "reload 重新加载模型；另一个模型需要另一个会话",
    "the backend is chosen at the launch: --backend NAME": "后端在启动时选择：--backend NAME",
    "reload loads the model again": "reload 重新加载模型",
    "names come from final.mlir and tensor_location.json next to the model": (
        "名称来自与模型同目录的 final.mlir 和 tensor_location.json"
    ),
    "there are no core files; s goes back to the start of the model": "没有核心转储文件；s 回到模型的起点",
    "a session has one model; the request attach opens another session": (
        "一个会话只有一个模型；attach 请求打开另一个会话"
    ),
    "finish runs to the end of the frame, skip N leaves commands out": "finish 运行到帧的末尾，skip N 跳过若干命令",
    "there are no signals; c continues": "没有信号；c 继续运行",
    "there are no signals; exception filters of the editor stop at faults": "没有信号；编辑器的异常筛选器在出错处停止",
    "exception filters of the editor stop at faults, sanitize finds them in one run": (
        "编辑器的异常筛选器在出错处停止，sanitize 用一次运行找出全部错误"
    ),
    "exception filters of the editor stop at faults": "编辑器的异常筛选器在出错处停止",
    "sanitize finds them in one run": "sanitize 用一次运行找出全部错误",
    "threads are cores, the editor chooses one; b core:N stops at one": (
        "线程即核，由编辑器选择；b core:N 在某个核上停止"
    ),
    "a session has one model": "一个会话只有一个模型",
    "log points print at a breakpoint, display EXPRESSION shows it after each stop": (
        "日志点在断点处输出，display EXPRESSION 在每次停止后显示"
    ),
    "hit counts are set in the editor": "命中次数在编辑器中设置",
    "b lists breakpoints, delete N removes one": "b 列出断点，delete N 删除断点",
    "b takes patterns: b tpu.Conv*": "b 接受通配符：b tpu.Conv*",
    "p EXPRESSION shows type and shape": "p EXPRESSION 显示类型和形状",
    "p EXPRESSION; log points take formats": "p EXPRESSION；日志点可带格式",
    "every run can go back: rc, rn, sb, goto N": "任何运行都可以反向执行：rc, rn, sb, goto N",
    "goto N leads to any moment, nothing need be saved": "goto N 可到任意时刻，无需保存",
    "an installed package can bring verbs: docs/console.md": "已安装的软件包可以提供命令：docs/console.md",
    "tdb-dap debug CONTEXT -x FILE runs a script": "tdb-dap debug CONTEXT -x FILE 运行脚本",
    "use another terminal, or py CODE": "请使用另一个终端，或 py CODE",
    "use another terminal": "请使用另一个终端",
    "paths are relative to where tdb-dap was started": "路径相对于启动 tdb-dap 的目录",
    "info asm FROM TO, or tdb-dap dis CONTEXT for all of it": "info asm FROM TO；全部内容用 tdb-dap dis CONTEXT",
    "the editor shows final.mlir; set PLACE = EXPRESSION changes data": (
        "编辑器显示 final.mlir；set PLACE = EXPRESSION 修改数据"
    ),
    "status, and info with a topic": "status，以及带主题的 info",
    "final.mlir is searched for next to the model": "在模型所在目录中查找 final.mlir",
    "after each stop source, commands and values are shown; the editor has views": (
        "每次停止后显示源、命令和数值；编辑器中有各种视图"
    ),
    "dump FILE.npz writes tensors": "dump FILE.npz 写出张量",
    "set PLACE = EXPRESSION, reload input FILE": "set PLACE = EXPRESSION，或 reload input FILE",
    "who EXPRESSION says who wrote a place, watch EXPRESSION stops there": (
        "who EXPRESSION 显示某处的写入者，watch EXPRESSION 在写入时停止"
    ),
    "check compares with the reference": "check 与参考数据比较",
    "undo takes an edit back, undisplay a display": "undo 撤销编辑，undisplay 取消显示",
}
