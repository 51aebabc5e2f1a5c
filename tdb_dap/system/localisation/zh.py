"""Simplified Chinese by English text; scripts/localisation.py finds missing and unused entries."""

TEXTS = {
    # Scopes
    "Operands": "操作数",
    "Results": "结果",
    "Attributes": "属性",
    "Registers": "寄存器",
    "Sync": "同步",
    "Layout": "布局",
    "Compare": "比较",
    "Inputs": "输入",
    "Outputs": "输出",
    "Weights": "权重",
    "Memory": "内存",
    # Stops
    "At the start": "位于起点",
    "At the end: every command has been executed; reverse works": "位于终点：所有命令均已执行；仍可反向执行",
    "Paused on {}": "已暂停：{}",
    "{} (edited run)": "{}（运行已被修改）",
    "Finished: {:,} commands.": "已完成：{:,} 条命令。",
    "using {}, next to the model": "使用与模型同目录的 {}",
    "inputs {}": "输入 {}",
    "reference {}": "参考数据 {}",
    "inputs {} and reference {}": "输入 {} 和参考数据 {}",
    "{}, {}: {}, {}, {}.": "{}，模型 {}：{}，{}，{}。",
    "{#} core": "{#} 个核",
    "{#} cores": "{#} 个核",
    "{#} subnet": "{#} 个子网",
    "{#} subnets": "{#} 个子网",
    "{#} launch": "{#} 次启动",
    "{#} launches": "{#} 次启动",
    "error": "错误",
    "warning": "警告",
    "no inputs are given: all inputs are zero. reload input FILE gives them": (
        "没有给出输入：所有输入为零。用 reload input FILE 指定"
    ),
    "nothing is compared: {}; reload input FILE gives them": "未作比较：{}；用 reload input FILE 指定",
    "subnet {} is dynamic, its commands are made while it runs: {}": "子网 {} 是动态的，其命令在运行时生成：{}",
    "its outputs will be taken from {}": "其输出将取自 {}",
    "the run will stop there": "运行将在那里停止",
    "{} has changed since it was opened. This session runs the old one; restart it, or type reload, for the new one.": (
        "{} 在打开之后已改变。此会话运行旧的；要运行新的，请重新启动，或输入 reload。"
    ),
    "this is net {} of a language model: set `prompt` (--prompt, --ids) to run all its nets as one program": (
        "这是语言模型的网络 {}：设置 `prompt`（--prompt、--ids）即可将其所有网络作为一个程序运行"
    ),
    # Progress
    "Running": "正在运行",
    "Loading {}": "正在加载 {}",
    "Tracing": "正在追踪",
    "Sanitizing": "正在运行检测器",
    "Looking for versions": "正在查找各个版本",
    "Looking for when": "正在查找时刻",
    "Looking for tensors": "正在查找张量",
    # Threads and breakpoints
    "core {}": "核 {}",
    "nothing to compare with; reload reference FILE gives it": "没有可比较的参考数据；用 reload reference FILE 指定",
    'nothing to compare with; set `backend` to "lockstep" in the launch configuration': (
        '没有可比较的对象；请在启动配置中将 `backend` 设为 "lockstep"'
    ),
    "there is no filter {!r}": "没有名为 {!r} 的筛选器",
    # Capabilities
    "Before": "之前",
    "Stop before the command": "在命令执行之前停止",
    "After": "之后",
    "Stop when its results are there": "在结果产生之后停止",
    "Change": "更改",
    "Writes that change a byte": "改变了字节内容的写入",
    "While It Lives": "存活期间",
    "From the first write of the tensor to its last read, not what is there later": (
        "从张量第一次被写入到最后一次被读取为止，不含此后占用该处的内容"
    ),
    "Differs from the reference": "与参考数据不一致",
    "Stop after an op whose result is not the expected one. Needs a reference.": (
        "在结果与预期不符的 op 之后停止。需要参考数据。"
    ),
    "names not to compare, separated by commas; all: also where an operand is wrong already": (
        "不参与比较的名称，以逗号分隔；all：操作数已经出错时也停止"
    ),
    "Simulators disagree": "模拟器结果不一致",
    "Stop after a command that the vendor's simulator executes differently. Needs the backend lockstep.": (
        "在厂商模拟器执行结果不同的命令之后停止。需要 lockstep 后端。"
    ),
    "Faults that show no wrong number": "数值上看不出的错误",
    "Sanitizers: accesses out of bounds, uninitialised reads, races, malformed commands, unused results, the first "
    "NaN. The condition chooses some of them.": (
        "检测器：越界访问、读取未初始化的内存、竞争、格式错误的命令、未使用的结果、首个 NaN。可用条件选择其中一部分。"
    ),
    "names, default all: bounds, uninitialized, hazard, decode, legal, unused, nan, inf, denormal, saturate; with "
    "places not to report: hazard: gemm15*; nan": (
        "名称，默认为全部：bounds, uninitialized, hazard, decode, legal, unused, nan, inf, denormal, saturate；"
        "可附上不报告的位置：hazard: gemm15*; nan"
    ),
    "Run mode": "运行方式",
    "Function": "函数",
    "Commands": "命令",
}
