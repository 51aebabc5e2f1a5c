"""Simplified Chinese of what sanitizers and comparisons report, and of lenses (tests/adapter/test_localisation.py)."""

TEXTS = {
    # Titles
    "An access leaves its bounds": "访问越界",
    "A command is not well formed": "命令格式错误",
    "The chip has no such command": "芯片没有这样的命令",
    "A result is not used": "结果未被使用",
    "Two engines touch the same bytes in no certain order": "两个引擎以不确定的顺序访问相同的字节",
    "Too many results are clipped": "被截断的结果过多",
    "Undefined memory is cleared by a product": "未定义的内存由乘法清零",
    "Uninitialised bytes are read": "读取了未初始化的字节",
    "The vendor's simulator computes another result": "厂商模拟器算出了不同的结果",
    "Cannot go on": "无法继续",
    "Internal error": "内部错误",
    "Not simulated": "未模拟",
    "The backend is lost": "后端已丢失",
    "{} differs from the reference": "{} 与参考数据不一致",
    "Origin of a NaN": "NaN 的来源",
    "Origin of an infinity": "无穷大的来源",
    "Origin of a subnormal number": "次正规数的来源",
    "A weight holds {}": "权重中含有 {}",
    # What they are about
    "{} reads {} bytes from {} on: {}": "{} 读取从 {2} 起的 {1} 字节：{3}",
    "{} writes {} bytes from {} on: {}": "{} 写入从 {2} 起的 {1} 字节：{3}",
    "{} reads {} bytes from {} on in lanes {} to {}: {}": "{0} 读取 lane {3} 至 {4} 中从 {2} 起的 {1} 字节：{5}",
    "{} writes {} bytes from {} on in lanes {} to {}: {}": "{0} 写入 lane {3} 至 {4} 中从 {2} 起的 {1} 字节：{5}",
    "{} bytes beyond the end of its {} ({} bytes)": "超出其 {1} 的末尾 {0} 字节（共 {2} 字节）",
    "lane {} does not exist: there are {}": "没有 lane {}：共有 {} 个",
    "no memory has this address": "没有内存具有此地址",
    "the model has no such bytes in DDR": "模型在 DDR 中没有这些字节",
    "past the end of the {}, {} bytes into the {}": "越过 {0} 的末尾，进入 {2} {1} 字节",
    "it leaves its {} ({} bytes)": "它离开了所在的 {}（{} 字节）",
    "beyond the buffers of {}": "超出 {} 的缓冲区",
    "beyond the buffers of {}, in the page of one of them": "超出 {} 的缓冲区，位于其中一个的页内",
    "beyond the buffers of {}, which holds no tensor that is still read": (
        "超出 {} 的缓冲区，那里没有仍会被读取的张量"
    ),
    "reserved bit {} is set ({} such bits)": "保留位 {} 被置位（共 {} 个这样的位）",
    "its id is {} and should be {}": "其 id 为 {}，应为 {}",
    "waits for {} command {}, and the last one is {}": "等待 {} 命令 {}，而最后一条是 {}",
    "no message of core {} after {} reaches core {} before {}, nor the other way round": (
        "核 {} 在 {} 之后的消息没有在 {3} 之前到达核 {2}，反之亦然"
    ),
    "{} waits for {} and not for {}, {} for {}": "{} 等待 {} 而不是 {}，{} 等待 {}",
    "{} reads {} which {} writes, and nothing orders them: {}": "{} 读取 {}，而 {} 写入它，两者之间没有次序：{}",
    "{} writes {} which {} reads, and nothing orders them: {}": "{} 写入 {}，而 {} 读取它，两者之间没有次序：{}",
    "{} writes {} which {} writes, and nothing orders them: {}": "{} 写入 {}，而 {} 也写入它，两者之间没有次序：{}",
    "{} bytes from {} on": "从 {1} 起的 {0} 字节",
    "{} in core {}": "核 {1} 中{0}",
    "{} makes {} {}{} of operands that hold none; the first at {} of %{}": (
        "{} 由不含它的操作数产生了 {} 个 {}{}；第一个位于 %{5} 的 {4}"
    ),
    "{} takes from the weight {}, in which {} of {} numbers are {}": (
        "{0} 取自权重 {1}，其中 {3} 个数中有 {2} 个是 {4}"
    ),
    "{} clips {} of {} elements ({}) of %{} to the ends of {}; the limit is {}": (
        "{0} 将 %{4} 的 {2} 个元素中的 {1} 个（{3}）截断到 {5} 的两端；上限为 {6}"
    ),
    "{} clears {} of {}, which is undefined, by a product with 0: NaN and infinity stay NaN": (
        "{} 通过乘以 0 清除 {} 的 {}，它未定义：NaN 和无穷大仍为 NaN"
    ),
    "{} {} that are undefined: {}": "{} {} 未定义：{}",
    "the host is given": "主机得到的",
    "{}, which differs from the reference, holds": "{} 与参考数据不一致，其中含有",
    "{} stores to {}": "{} 存储到 {}",
    "its old value": "其旧值",
    "{} writes {} which are not read before they are overwritten or the program ends": (
        "{} 写入 {}，在被覆盖或程序结束之前没有被读取"
    ),
    # What differs
    "pass": "一致",
    "fail": "不一致",
    "excepted": "不参与比较",
    "cosine {}": "余弦相似度 {}",
    "euclidean {}": "欧氏相似度 {}",
    "channel {} euclidean {}": "通道 {} 的欧氏相似度 {}",
    "max difference {}": "最大差异 {}",
    "{} (limit {})": "{}（限值 {}）",
    "{} ({} at line {}): {}": "{}（{}，第 {} 行）：{}",
    "{} ({} at line {}, slice {}): {}": "{}（{}，第 {} 行，切片 {}）：{}",
    "first at [{*}]: {} instead of {}": "第一个位于 [{*}]：{}，应为 {}",
    "most at [{*}]: {} instead of {}": "最大处位于 [{*}]：{}，应为 {}",
    "{} of {} elements differ": "{1} 个元素中有 {0} 个不一致",
    "first on each axis: {}": "各轴上的第一个：{}",
    "worst channel: {} of axis {}": "最差的通道：轴 {1} 的 {0}",
    "largest difference in steps of {}: {}": "以 {} 的步长计的最大差异：{}",
    "{} is {}, expected {}; {}": "{} 为 {}，应为 {}；{}",
    "no command has written it": "没有命令写过它",
    "edited at command {}: {}": "在命令 {} 处被修改：{}",
    "written by command {}, {}": "由命令 {} 写入，{}",
    "written by command {}, {}, for {} (line {})": "由命令 {} 写入，{}，属于 {}（第 {} 行）",
    "overwritten by command {}, {}, for {} (line {}): it is the result of line {}": (
        "被命令 {} 覆盖，{}，属于 {}（第 {} 行）：它是第 {} 行的结果"
    ),
    "command {} ({}): {}": "命令 {}（{}）：{}",
    # Lenses
    "{#} command": "{#} 条命令",
    "{#} commands": "{#} 条命令",
    "{} cycles, {}": "{} 个周期，{}",
}
