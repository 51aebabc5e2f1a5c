"""Simplified Chinese of what the engine refuses or cannot simulate."""

TEXTS = {
    # Places and steps
    "there is no exception filter {}; there are {*}": "没有异常筛选器 {}；可用的有 {*}",
    "there is no command {}: the program has {}": "没有命令 {}：程序有 {} 条",
    "command {} is not in this program; there are 0 to {}": "此程序中没有命令 {}；有 0 至 {}",
    "command {} is not ahead; this is command {}": "命令 {} 不在前方；当前为命令 {}",
    "there is no launch {}; there are 0 to {}": "没有启动 {}；有 0 至 {}",
    "there is no token {}; there are 0 to {}": "没有 token {}；有 0 至 {}",
    "there are 0 to {}": "有 0 至 {}",
    "only recordings have launches": "只有录制文件才有启动",
    "only an answer to a prompt has tokens": "只有对提示词的回答才有 token",
    "{}: no op of that location; near are {*}": "{}：没有该位置的 op；相近的有 {*}",
    "line {} of final.mlir has no commands; these have: {*}, ...": (
        "final.mlir 的第 {} 行没有命令；有命令的是：{*}, ..."
    ),
    "{} names {} commands: {*}": "{} 是 {} 条命令的名称：{*}",
    # Expressions
    "{}: the result is too large": "{}：结果过大",
    "a list holds numbers of 64 bits at most": "列表中的数最多 64 位",
    "ref(...) takes one tensor, such as ref(in[0]) or ref(%16); an index goes after it": (
        "ref 的参数为一个张量，例如 ref(in[0])、ref(%16)；索引写在其后"
    ),
    "{}: keywords are {*}": "{}：可用的关键字为 {*}",
    "{} holds stored numbers and {} real ones; write real(...) around the first": (
        "{} 是存储的数，而 {} 是实数；请给前者加上 real(...)"
    ),
    "comparisons are ==, !=, <, <=, > and >=": "比较运算符有 ==、!=、<、<=、> 和 >=",
    "the result would have {} elements; the limit is {}": "结果将有 {} 个元素；上限为 {}",
    "where takes a condition, or a condition and two choices": "where 需要一个条件，或一个条件和两个选项",
    "attention takes q of (queries, heads, numbers) and k of (keys, shared heads, numbers)": (
        "attention：q 的形状为 `(queries, heads, numbers)`，k 的形状为 `(keys, shared heads, numbers)`"
    ),
    "attention: the result is too large": "attention：结果过大",
    "the number would be too large": "数会过大",
    "{}, and expressions cannot use attributes (a.b)": "{}，而表达式不能使用属性（a.b）",
    "rows and columns must be different axes from 0 to {}, not {*}": "行和列必须是 0 至 {} 中不同的轴，而不是 {*}",
    "index needs {} numbers, one for each axis, not {}": "index 需要 {} 个数，每个轴一个，而不是 {}",
    "channels must be an axis from 0 to {} besides rows and columns, not {}": (
        "channels 必须是 0 至 {} 中行和列以外的轴，而不是 {}"
    ),
    "across must be at least 1, not {}": "across 至少为 1，而不是 {}",
    "index {} of axis {} is outside of 0 to {}": "轴 {1} 的索引 {0} 不在 0 至 {2} 之内",
    "@{}: there is no such command; there are {}, from 0": "@{}：没有这样的命令；共有 {} 条，从 0 起",
    "{} stands for {} values; write {}#0 to #{}": "{} 代表 {} 个值；请写 {}#0 至 #{}",
    "{} stands for {} values ({*}); select a frame of one, or write {} for what command {} sees": (
        "{} 代表 {} 个值（{*}）；请选择其中一个的帧，或写 {} 表示命令 {} 所见的值"
    ),
    "{} stands for {} values ({*}); select a frame of one": "{} 代表 {} 个值（{*}）；请选择其中一个的帧",
    "there is no #loc{}": "没有 #loc{}",
    "{}: a shape is a list of positive numbers": "{}：形状是正数的列表",
    "{} has no name that a reference could know; write ref(%16) or ref(in[0])": (
        "{} 没有参考数据所用的名称；请写 ref(%16)、ref(in[0])"
    ),
    "{}: tensors in local memory have at most 4 dimensions": "{}：local memory 中的张量最多 4 维",
    "{}: %{} of shape {*} has no such part": "{}：形状为 {2} 的 %{1} 没有这样的部分",
    "an array of shape {*}": "形状为 {*} 的数组",
    "there are {}, from 0": "共有 {} 个，从 0 起",
    "there are none": "一个也没有",
    "{} reaches as far as {}; write inf for infinity": "{} 最大到 {}；无穷大请写 inf",
    "{} reaches as far as {}": "{} 最大到 {}",
    "{} holds whole numbers from {} to {}": "{} 存放从 {} 到 {} 的整数",
    # Addresses
    "{} is not an address; write R<bank>.<byte>, G<offset>, L<offset> or S<offset>": (
        "{} 不是地址；请写 R<bank>.<byte>、G<offset>、L<offset> 或 S<offset>"
    ),
    "{}: this chip has banks R0 to R{}": "{}：此芯片的 bank 为 R0 至 R{}",
    "{}: a bank has {} bytes": "{}：一个 bank 有 {} 字节",
    "{} is outside of local memory ({} lanes of {} bytes)": "{} 在 local memory 之外（{} 个 lane，每个 {} 字节）",
    "{} is not a number that can be used": "{} 不是可用的数",
    "{}: only local memory (R) has banks and lanes": "{}：只有 local memory（R）才有 bank 和 lane",
    "{} is not a place; write R0x4000+64 or R0x4000+64*8/0x40000": (
        "{} 不是位置；请写 R0x4000+64 或 R0x4000+64*8/0x40000"
    ),
    "%{} is a stream of bytes; only the whole of it can be named": "%{} 是字节流；只能整体指定",
    "{}: {} is not a number of bytes that can be watched": "{}：{} 不是可以监视的字节数",
    "the model has no activation region in DDR": "模型在 DDR 中没有激活区",
    "address {} is not in DDR": "地址 {} 不在 DDR 中",
    "%{}: {} bytes that repeat fewer of the memory; more than {}": "%{}：{} 字节重复使用更少的内存；超过 {}",
    "{} has no bytes {} to {}": "{} 没有字节 {} 至 {}",
    "{} has no bytes {} to {}; it holds {} to {} ({}); and {} more parts": (
        "{} 没有字节 {} 至 {}；现有 {} 至 {}（{}）；以及另外 {} 部分"
    ),
    "{} has no bytes {} to {}; it holds {} to {} ({})": "{} 没有字节 {} 至 {}；现有 {} 至 {}（{}）",
    "a matrix of 0 columns per lane has no place in memory": "每个 lane 0 列的矩阵在内存中没有位置",
    "unknown memory": "未知的内存",
    "{} {} at %{} is in no known memory": "位于 %{2} 的 {0} {1} 不在已知的内存中",
    "no known memory": "未知的内存",
    "no part of {} that the model has": "不是模型所有的 {} 的一部分",
    # Execution
    "{} of {} commands are executed{}": "{1} 条命令中已执行 {0} 条{2}",
    "{} is not computed: {}": "{} 尚未计算：{}",
    "{}; {} gives what memory holds": "{}；{} 给出内存中的内容",
    "a tensor is not computed": "张量尚未计算",
    "internal error, please report it: command {}: {}: {}": "内部错误，请报告：命令 {}：{}：{}",
    "{}; from here on the built-in simulator executes": "{}；从此处起由内置模拟器执行",
    "what the command writes is not known, and the device does not report it": "此命令写入的内容未知，设备也不报告",
    "{} has changed bytes that do not exist: {}": "{} 改动了不存在的字节：{}",
    "{}: its operands are larger than the memory of this machine": "{}：其操作数超过本机的内存",
    "there is not enough memory for this": "内存不足",
    "{} is a subnet that is not made of commands; it has no fields": "{} 是不由命令构成的子网；没有字段",
    "{} has been executed; go back first: goto {}": "{} 已执行；请先退回：goto {}",
    "{} sets up registers for other commands; change their own fields instead": (
        "{} 为其他命令设置寄存器；请改动那些命令自己的字段"
    ),
    "{} has no field {}; it has {*}, ... (info reg lists them)": "{} 没有字段 {}；现有 {*}, ...（info reg 列出全部）",
    "{}: {} does not fit into the field {}": "{}：{} 放不进字段 {}",
    "{}: {} says what kind of command it is and cannot be changed": "{}：{} 决定命令的种类，不能改动",
    "nothing has been changed here; whatif FIELD = VALUE does": "这里没有改动；请用 whatif FIELD = VALUE",
    "{} of {} numbers are NaN: none is largest": "{1} 个数中有 {0} 个是 NaN：没有最大值",
    "{}: {} (operands not known)": "{}：{}（操作数未知）",
    "{} (streams of {} bytes that are not decoded)": "{}（未解码的 {} 字节命令流）",
    "not named": "未命名",
    "read of its view": "读取其视图",
    "The runtime copies {} from its own memory to where this subnet reads it.": (
        "runtime 将 {} 从自己的内存复制到此子网读取之处。"
    ),
    "The runtime copies {} to its own memory.": "runtime 将 {} 复制到自己的内存。",
    "The host copies bytes into DDR.": "主机将字节复制到 DDR。",
    "The host copies bytes out of DDR.": "主机将字节从 DDR 复制出来。",
    "The host copies bytes in DDR.": "主机在 DDR 中复制字节。",
    "The host sets bytes of DDR.": "主机设置 DDR 的字节。",
    "The host writes numbers into DDR.": "主机将数写入 DDR。",
    "The host takes the index of the largest number.": "主机取最大数的索引。",
    "Bytes that were changed without a command, by the host or the firmware.": "没有命令而由主机或固件改动的字节。",
    "the program has ended; there is no further command": "程序已结束；没有后续命令",
    # Host functions
    "the host function {}({*}) is not simulated": "未模拟主机函数 {}({*})",
    "the host function {} has no argument {}": "主机函数 {} 没有参数 {}",
    "the host function {}: its inputs do not fit together: {}": "主机函数 {}：其输入彼此不符：{}",
    "{} numbers for an output of {}": "{} 个数，而输出需要 {} 个",
    "quant of {} as {} is not simulated": "未模拟将 {} 量化为 {}",
    "quant of NaN is undefined": "NaN 的量化未定义",
    "embedding of {} as {} is undefined": "将 {} 作为 {} 的 embedding 未定义",
    "embedding: a row is outside of 0 to {}": "embedding：行号不在 0 至 {} 之内",
    "softmax of {} is not simulated": "未模拟 {} 的 softmax",
    "interp of {} with coordinate_transformation_mode = {} is not simulated": (
        "未模拟 coordinate_transformation_mode = {1} 时 {0} 的 interp"
    ),
    "{}: an index is outside of 0 to {}": "{}：索引不在 0 至 {} 之内",
    "CPU_GATHER_PT along axis {} of {} is not simulated": "未模拟沿轴 {}（共 {}）的 CPU_GATHER_PT",
    "CPU_GATHERND_TF with batch dimensions is not simulated": "未模拟带 batch 维的 CPU_GATHERND_TF",
    "CPU_TENSOR_SCATTER_OP with the operation {} is not simulated": "未模拟操作为 {} 的 CPU_TENSOR_SCATTER_OP",
    "CPU_{} is not simulated yet; simulated are {*}": "CPU_{} 尚未模拟；已模拟的有 {*}",
    "CPU_{}: its inputs do not fit together: {}": "CPU_{}：其输入彼此不符：{}",
    "CPU_DEFORM_GATHER with the mode {} is not simulated": "未模拟模式为 {} 的 CPU_DEFORM_GATHER",
    "CPU_GRID_SAMPLER with the interpolation {} is not simulated": "未模拟插值为 {} 的 CPU_GRID_SAMPLER",
    "CPU_GRID_SAMPLER with the padding {} is not simulated": "未模拟填充为 {} 的 CPU_GRID_SAMPLER",
    "CPU_ONNX_NMS with boxes given by their centre is not simulated": "未模拟以中心表示框的 CPU_ONNX_NMS",
    "CPU_ONNX_NMS of boxes with equal scores is not simulated: their order is not defined": (
        "未模拟框得分相等的 CPU_ONNX_NMS：其次序未定义"
    ),
    # Subnets
    "subnet {} (SWITCH) with {} is not simulated": "未模拟带 {1} 的子网 {0}（SWITCH）",
    "subnet {} (MERGE): {} sources for {} outputs": "子网 {0}（MERGE）：{2} 个输出有 {1} 个来源",
    "subnet {} (MERGE): which tensor becomes {} is not known: {}": "子网 {}（MERGE）：哪个张量成为 {} 未知：{}",
    "{} branches and {} outputs": "{} 个分支和 {} 个输出",
    "{}: the {} bytes of HAU streams are not simulated": "{}：未模拟 {} 字节的 HAU 命令流",
    "subnet {} ({}) is dynamic: its commands are made while it runs, which is not simulated; with reference data for "
    "{} the run continues from there{*}": (
        "子网 {}（{}）是动态的：其命令在运行时生成，未模拟；有 {} 的参考数据时可由该处继续运行{*}"
    ),
    "subnet {} ({}) is dynamic: {} from {}": "子网 {}（{}）是动态的：{} 取自 {}",
    "its output {*}": "其输出 {*}",
    "its outputs {*}": "其输出 {*}",
    "{}: a CPU subnet of {} operations is not simulated yet": "{}：尚未模拟有 {} 个操作的 CPU 子网",
    "{} has room for {} numbers; {} were computed": "{} 可放 {} 个数；而算出了 {} 个",
    "{} with {} data ({}) is not simulated yet": "尚未模拟数据为 {1} 的 {0}（{2}）",
    "the parameters of {}": "{} 的参数",
    # Several nets
    "{} cannot be copied to {}": "{} 无法复制到 {}",
    "net {} is not launched, so its tensors have no place": "网络 {} 没有启动，因此其张量没有位置",
    "net {} has no input or output {}; it has {*}": "网络 {} 没有输入或输出 {}；现有 {*}",
    "{} of {} is not in one piece; only all of it can be used": "{1} 的 {0} 不连续；只能整体使用",
    "its nets need more than {} of DDR together": "其各网络合计需要超过 {} 的 DDR",
    # Recordings
    "{}: command {} has no descriptor; record again": "{}：命令 {} 没有描述符；请重新录制",
    "{}: command {} is of core {}; no chip has that many cores": "{}：命令 {} 属于核 {}；没有芯片有这么多核",
    "{}: a block of {} bytes is too short; record again": "{}：{} 字节的块过短；请重新录制",
    "{}: {} bytes at {} of {}, which has {}; record again": "{0}：{3} 中 {2} 处的 {1} 字节，而它有 {4}；请重新录制",
    "{}: a memory {} is not known; record again": "{}：未知的内存 {}；请重新录制",
    "{}: neither a model nor an emulator of a known chip is named in it; was anything executed while it was "
    "recorded?": ("{}：其中没有提到模型，也没有提到已知芯片的模拟器；录制时是否执行过命令？"),
    "{}: is a recording; this needs the compiled model that was run": "{}：是录制文件；这里需要当时运行的编译后模型",
    "{}: command {} is of engine {}, which is not known; record again with this version of tdb-dap": (
        "{}：命令 {} 属于未知的引擎 {}；请用此版本的 tdb-dap 重新录制"
    ),
    "{}: its commands use {} bytes of DDR, more than the limit of {}; is the file damaged?": (
        "{}：其命令使用 {} 字节 DDR，超过上限 {}；文件是否损坏？"
    ),
    "{}: command {} has a descriptor that {} does not know": "{}：{2} 不认识命令 {1} 的描述符",
    "commands that belong to no launch:": "不属于任何启动的命令：",
    "the {} bytes from %{} are not those of the recorded run": "从 %{1} 起的 {0} 字节与录制的运行不一致",
    "the recording does not hold the {} bytes from %{} that the host read; record the program again with this version "
    "of tdb-dap": "录制文件中没有主机从 %{1} 起读取的 {0} 字节；请用此版本的 tdb-dap 重新录制程序",
    "{}: {} (not decoded; its results are in the recording)": "{}：{}（未解码；其结果在录制文件中）",
    "{}: not a recording; `tdb-dap record -- PROGRAM` makes one": (
        "{}：不是录制文件；用 `tdb-dap record -- PROGRAM` 生成"
    ),
    "{}: a recording of version {}, and this tdb-dap reads {}; update tdb-dap or record again": (
        "{}：录制文件的版本为 {}，而此 tdb-dap 读取 {}；请更新 tdb-dap 或重新录制"
    ),
    "{}: nothing was recorded before it was interrupted; record again": "{}：中断之前没有录到任何内容；请重新录制",
    "{}: damaged at byte {}: {}; {}": "{}：在第 {} 字节处损坏：{}；{}",
    "{}: has more than {} events, too many for its size": "{}：有超过 {} 个事件，对其大小而言过多",
    "copy it or record again": "请重新复制或录制",
    "it was interrupted: what the program did after the last event is not in it": (
        "录制曾中断：其中没有最后一个事件之后的内容"
    ),
    "it was interrupted: its last part, at byte {}, is not whole ({})": (
        "录制曾中断：其最后一部分（第 {} 字节处）不完整（{}）"
    ),
    "its size is not the announced one": "其大小与声明的不符",
    "it cannot be unpacked": "无法解压",
    "a shape of {} dimensions; record again": "{} 维的形状；请重新录制",
    "a payload of {} bytes is too short; record again": "{} 字节的载荷过短；请重新录制",
    "a block of {} bytes in a region of {}; record again": "{1} 字节的区域中有 {0} 字节的块；请重新录制",
    "its header is cut off": "文件头不完整",
    "{} of {} bytes are there": "{1} 字节中只有 {0} 字节",
    "an unknown kind of chunk": "未知种类的块",
    "its checksum is wrong": "校验和不正确",
    "it continues after its end": "结束之后仍有内容",
    "its chunks are out of order": "块的次序不正确",
    "an attached file without its name": "附带的文件没有名称",
    "an event is cut off": "事件不完整",
    "the checksum of the whole is wrong": "整体的校验和不正确",
    # Questions
    "write {} for the tensor, as in max(abs({})) > 6e4": "请用 {} 表示张量，例如 max(abs({})) > 6e4",
    "name the place after at: {*}": "请在 at 之后给出位置：{*}",
    "name the condition after if: {*}": "请在 if 之后给出条件：{*}",
    "name what to trace: {*}": "请给出要追踪的内容：{*}",
    "{} expressions: at most {} in one trace": "{} 个表达式：一次追踪最多 {} 个",
    "{} is named twice": "{} 出现了两次",
    "there is nothing between two commas": "两个逗号之间没有内容",
    "more than {} places; choose fewer with `at`": "超过 {} 处；请用 `at` 缩小范围",
    "{}: no command of this program is there": "{}：此程序在那里没有命令",
    "ask for 1 to {} versions": "请求 1 至 {} 个版本",
    # Sanitizers
    "saturate: {} is not a percentage; give 0 to 100, for example 5%": (
        "saturate：{} 不是百分比；请给出 0 至 100，例如 5%"
    ),
}
