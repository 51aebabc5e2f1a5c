"""Simplified Chinese of what is refused, and why (tests/adapter/test_localisation.py)."""

TEXTS = {
    # Requests
    "The program is running; pause it first.": "程序正在运行；请先暂停。",
    "cancelled": "已取消",
    "no program is loaded": "没有加载程序",
    "a program is loaded already; disconnect first": "已经加载了程序；请先断开连接",
    "the session is over": "会话已结束",
    "the request {} is not supported": "不支持请求 {}",
    "{}: attach with the token that the adapter was started with": "{}：请用启动适配器时的令牌连接",
    "the token is missing or wrong; give the one that the adapter was started with, or that it has printed": (
        "令牌缺失或不正确；请使用启动适配器时的令牌，或它打印出的令牌"
    ),
    "the token is missing or wrong; give the one that the invitation has named": (
        "令牌缺失或不正确；请使用邀请中给出的令牌"
    ),
    "the program has not stopped because of an exception": "程序不是因异常而停止",
    "restart: arguments must be a launch configuration, not {}": "restart：参数必须是启动配置，而不是 {}",
    "a frame of level {} cannot be restarted": "层级为 {} 的帧不能重新开始",
    "there is no thread {}": "没有线程 {}",
    "there is no target {}": "没有目标 {}",
    "there is no target {} ahead": "前方没有目标 {}",
    "there is no {} here": "这里没有 {}",
    "there is no frame {} any more; the program has moved on": "帧 {} 已不存在；程序已继续执行",
    "there is no location {} any more; the program has moved on": "位置 {} 已不存在；程序已继续执行",
    "there is no variable {} any more; the program has moved on": "变量 {} 已不存在；程序已继续执行",
    "there is no instruction at {}": "{} 处没有指令",
    "{} instructions at once; ask for at most {}": "一次请求 {} 条指令；最多 {} 条",
    "{} is not the address of an instruction": "{} 不是指令地址",
    "{} is not a memory reference": "{} 不是内存引用",
    "the data is not base64": "数据不是 base64",
    "this program has no such source": "此程序没有这个源",
    "this model has no final.mlir": "此模型没有 final.mlir",
    "this model has no final.mlir, and without it no graph": "此模型没有 final.mlir，因此没有计算图",
    "{} is as it was at the start; no command has written it": "{} 与起点时相同；没有命令写过它",
    "{} was edited: {}": "{} 被修改过：{}",
    "{} cannot be set: {}": "{} 不能设置：{}",
    "{} is not in memory": "{} 不在内存中",
    "give the stored number alone, in place of {}; the real one follows from it": (
        "请只给出存储的数，代替 {}；实数由它得出"
    ),
    "launch configuration: {}": "启动配置：{}",
    "launch configuration: sanitizers: {}": "启动配置：sanitizers：{}",
    'launch configuration: threads: "engine" is not available yet in this version; use "core"': (
        '启动配置：threads：此版本尚不支持 "engine"；请用 "core"'
    ),
    "reference: with prompt it is one folder, that of the model before conversion": (
        "reference：与 prompt 一起使用时是一个文件夹，即转换之前的模型"
    ),
    "{}: not with {}; leave {} out": "{}：不能与 {} 一起使用；请去掉 {}",
    "there is no sanitizer {}; there are all, {}": "没有检测器 {}；可用的有 all, {}",
    # Console
    "there is no verb {}; help lists them": "没有命令 {}；help 列出全部",
    "{}; nor is {} a verb: help lists them": "{}；{} 也不是命令：help 列出全部",
    "{} needs more: {}": "{} 还需要：{}",
    "{} is not a number of steps": "{} 不是步数",
    "{} takes no formats here: {} {}": "{} 在这里不接受格式：{} {}",
    "{} is not a verb here: {}": "{} 在这里不是命令：{}",
    "name a condition: when max(abs(out[0])) > 6e4": "请给出条件：when max(abs(out[0])) > 6e4",
    "name a tensor, a slice or an address: history R0x1000:f32[16]": (
        "请给出张量、切片或地址：history R0x1000:f32[16]"
    ),
    "give the numbers of breakpoints; b lists them": "请给出断点编号；b 列出全部",
    "write check summary, check failed, check table, or check data LINE (of final.mlir)": (
        "请写 check summary、check failed、check table，或 check data LINE（final.mlir 的行号）"
    ),
    "line {} has not been compared; check summary lists the lines that have": (
        "第 {} 行没有比较过；check summary 列出比较过的行"
    ),
    "there is no frame {}; bt lists 0 to {}": "没有帧 {}；bt 列出 0 至 {}",
    "info knows {}": "info 支持 {}",
    "this program has no {}": "此程序没有 {}",
    "goto takes the number or name of a command, or launch or token and its number": (
        "goto 需要命令的编号或名称，或者 launch、token 及其编号"
    ),
    "there is no launch {}; {}": "没有启动 {}；{}",
    "there is no token {}; {}": "没有 token {}；{}",
    "write dump FILE.npz, or dump FILE.npz EXPRESSION ...": "请写 dump FILE.npz，或 dump FILE.npz EXPRESSION ...",
    'py needs "allowPython": true in the launch configuration: Python can do anything': (
        'py 需要在启动配置中设置 "allowPython": true：Python 可以做任何事'
    ),
    "there is no display {}; display lists them": "没有显示项 {}；display 列出全部",
    "{} {}: nothing was written": "{} {}：没有写入任何内容",
    "write reload, reload input FILE, or reload reference FILE ...": (
        "请写 reload、reload input FILE，或 reload reference FILE ..."
    ),
    "write set PLACE = EXPRESSION": "请写 set PLACE = EXPRESSION",
    "there is no edit to undo": "没有可撤销的修改",
    "skip takes the number of the command to continue at": "skip 需要从其继续执行的命令编号",
    "whatif takes FIELD = NUMBER, or the number of a command after {}": (
        "whatif 需要 FIELD = NUMBER，或 {} 之后的命令编号"
    ),
    "{} is not a whole number; fields hold the bits of a command": "{} 不是整数；字段存放命令的位",
    # Views
    "no logits are computed yet; run to the end of the first lm_head": (
        "尚未计算 logits；请执行到第一个 lm_head 的末尾"
    ),
    "no answer is being computed; set `prompt` in the launch configuration, or tdb-dap debug DIR --ids N,N": (
        "没有正在计算的回答；请在启动配置中设置 `prompt`，或使用 tdb-dap debug DIR --ids N,N"
    ),
    "this is no tpu.FAttention; b tpu.FAttention stops at each": (
        "这不是 tpu.FAttention；b tpu.FAttention 在每个处停止"
    ),
    "there is no program for an agent to inspect": "没有可供代理查看的程序",
    "{}{} is not reached from here": "从这里到不了 {}{}",
    "a guest may only look: {}": "来宾只能查看：{}",
    "{}: a guest may look, go and set bookmarks": "{}：来宾可以查看、移动和设置书签",
    "name: give a word of letters, digits and _, at most 40": "name：请给出由字母、数字和 _ 组成的词，最多 40 个字符",
    "there are {} bookmarks already": "已有 {} 个书签",
    "{} is computed, not in memory; name a tensor, an operand or a range": (
        "{} 是计算得出的，不在内存中；请给出张量、操作数或范围"
    ),
    "{} is {} numbers; one is written at a time": "{} 是 {} 个数；一次只能写入一个",
    "{} is not a type of numbers of whole bytes; there are {}": "{} 不是整字节的数值类型；可用的有 {}",
    "{}; write one number, such as -1.5, 0x1f, nan or in[0][0,0,0,0]": (
        "{}；请写一个数，例如 -1.5、0x1f、nan 或 in[0][0,0,0,0]"
    ),
    "line {} of final.mlir has no op; send the line of a node of tdb/graph": (
        "final.mlir 的第 {} 行没有 op；请使用 tdb/graph 中节点的行号"
    ),
    "there is no command {}; there are 0 to {}": "没有命令 {}；有 0 至 {}",
    "step must be at least 1, not {}": "step 至少为 1，而不是 {}",
    "channels side by side need a rowAxis and a columnAxis": "并排显示通道需要 rowAxis 和 columnAxis",
    "bins and most must be from 1 to 4096": "bins 和 most 必须在 1 至 4096 之间",
    "most must be from 1 to {}": "most 必须在 1 至 {} 之间",
    "count must be from 1 to {}, and rowBytes at least 1": "count 必须在 1 至 {} 之间，rowBytes 至少为 1",
    "there is no reference for {}": "{} 没有参考数据",
    "{}: {} to {} is not a part of 0 to {}": "{}：{} 至 {} 不在 0 至 {} 之内",
    "{} elements are too many for one answer; ask for {} at most": "{} 个元素超出一次响应的上限；最多 {} 个",
    "words of {} bits do not fit into the answer; ask for an element": "{} 位的字放不进响应；请只请求一个元素",
    "{} has numbers that no tensor holds: of 64 bits at most": "{} 中有张量存不下的数：最多 64 位",
    # Expressions
    "{} is not a place in memory": "{} 不是内存中的位置",
    "{} {}: writing there would change another tensor": "{} {}：写到那里会改变另一个张量",
    "{} is a selection of a selection; write it with one index": "{} 是选择的选择；请写成一个索引",
    "a value of shape {} does not fit into {}, shape {}": "形状为 {} 的值放不进 {}，其形状为 {}",
    "{} is not yet computed": "{} 尚未计算",
    "{}: choose one, for instance {}[0]": "{}：请选择一个，例如 {}[0]",
    "the expression is longer than {} characters": "表达式超过 {} 个字符",
    "the expression has more than {} parts": "表达式超过 {} 个部分",
    "expressions cannot use {} here": "表达式在这里不能使用 {}",
    "expressions hold numbers only": "表达式只能包含数",
    "cannot understand {}": "无法理解 {}",
    "in, out and ref are lists; choose one, for instance in[0]": "in、out 和 ref 是列表；请选择一个，例如 in[0]",
    "{} is a function; write {}(...)": "{} 是函数；请写 {}(...)",
    "{} is not a function here; there are {}": "{} 在这里不是函数；可用的有 {}",
    "the expression would take too long; choose a part of the tensor first, as in in[0][0]": (
        "表达式耗时过长；请先选择张量的一部分，例如 in[0][0]"
    ),
    "{}[...] takes one number": "{}[...] 需要一个数",
    "{}[{}] does not exist here: {}": "这里没有 {}[{}]：{}",
    "there is no tensor named {}": "没有名为 {} 的张量",
    "there is no {} named {}": "没有名为 {1} 的 {0}",
    "there is no weight named {}": "没有名为 {} 的权重",
    "{} is not an operand here; to read memory add a type: {}:f32[1,64,8,8]": (
        "{} 在这里不是操作数；要读取内存请加上类型：{}:f32[1,64,8,8]"
    ),
    "{} is not defined in this function": "{} 在此函数中没有定义",
    "{} is not a type; there are {}": "{} 不是类型；可用的有 {}",
    "{} has no place in memory that is known": "{} 在内存中没有已知的位置",
    "no reference is loaded": "没有加载参考数据",
    "the reference has no {} of this size": "参考数据中没有这种大小的 {}",
}
