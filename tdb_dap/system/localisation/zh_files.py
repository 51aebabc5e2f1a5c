"""Simplified Chinese of what is wrong with files and data that are loaded."""

TEXTS = {
    "{}: cannot be read: {}": "{}：无法读取：{}",
    "{}: cannot be read as {}: {}": "{}：无法按 {} 读取：{}",
    "{}: cannot be written: {}": "{}：无法写入：{}",
    "{}: cannot be written: there is no directory {}": "{}：无法写入：没有目录 {}",
    "{}: cannot be written: it is a directory": "{}：无法写入：它是目录",
    "{}: cannot be read: not a file": "{}：无法读取：不是文件",
    "{}: cannot be used: {}": "{}：无法使用：{}",
    "nobody reads from this pipe": "没有程序读取此管道",
    "{}: has {} bytes, more than the limit of {}": "{}：有 {} 字节，超过上限 {}",
    "{}: damaged .xz file (it ends too early); copy it again": "{}：.xz 文件已损坏（过早结束）；请重新复制",
    "{}: damaged .xz file ({}); copy it again": "{}：.xz 文件已损坏（{}）；请重新复制",
    "{}: unpacks to more than {}; unpack it to a file first": "{}：解压后超过 {}；请先解压到文件",
    "{}: unpacks to more than {}": "{}：解压后超过 {}",
    "{}: was written since it was opened, so its numbers would be of two files; load it again": (
        "{}：打开之后被改写，其中的数会来自两个文件；请重新加载"
    ),
    "{}: is no JSON: {}": "{}：不是 JSON：{}",
    "{}: is no YAML: {}": "{}：不是 YAML：{}",
    "{}: not valid JSON ({}); {}": "{}：不是有效的 JSON（{}）；{}",
    "{}: reading YAML needs PyYAML; pip install pyyaml, or write JSON": (
        "{}：读取 YAML 需要 PyYAML；请 pip install pyyaml，或改用 JSON"
    ),
    "{}: its aliases (*name) repeat more than it holds; write it out, or fewer of them": (
        "{}：其中的别名（*name）展开后过大；请直接写出，或减少别名"
    ),
    "an alias stands inside of what it repeats": "别名出现在它所重复的内容之中",
    # Models
    "{}: no such file or directory; give a context directory or a .bmodel file": (
        "{}：没有这样的文件或目录；请给出上下文目录或 .bmodel 文件"
    ),
    "{}: no compiled model belongs to it; give the context directory that the compiler leaves (model_deploy --debug), "
    "or a .bmodel file": (
        "{}：没有对应的编译后模型；请给出编译器留下的上下文目录（model_deploy --debug），或 .bmodel 文件"
    ),
    "{}: {} models are compiled from it ({*}); give one of these directories": (
        "{}：由它编译出 {} 个模型（{*}）；请给出其中一个目录"
    ),
    "{}: no compilation.bmodel in this directory; give the context directory that the compiler leaves (model_deploy "
    "--debug), or a .bmodel or .cvimodel file": (
        "{}：此目录中没有 compilation.bmodel；请给出编译器留下的上下文目录（model_deploy --debug），"
        "或 .bmodel、.cvimodel 文件"
    ),
    "{}: {} models are here ({*}); give one of them, such as {}": (
        "{}：这里有 {} 个模型（{*}）；请给出其中一个，例如 {}"
    ),
    "{}: not a bmodel: {} bytes are less than its {}-byte header": "{}：不是 bmodel：{} 字节，小于 {} 字节的文件头",
    "{}: not a bmodel: it starts with {} instead of {}; give the compiler's context directory or its "
    "compilation.bmodel": "{}：不是 bmodel：开头是 {}，应为 {}；请给出编译器的上下文目录或其中的 compilation.bmodel",
    "{}: truncated bmodel: its header announces {} bytes and the file has {}; copy or compile it again": (
        "{}：bmodel 不完整：文件头声明 {} 字节，而文件有 {} 字节；请重新复制或编译"
    ),
    "{}: the model description is damaged ({}); compile or copy the model again": (
        "{}：模型描述已损坏（{}）；请重新编译或复制模型"
    ),
    "{}: {} should be {} bytes at {} of the payload, which has only {}; copy or compile the model again": (
        "{}：{} 应为载荷中 {3} 处的 {2} 字节，而载荷只有 {4}；请重新复制或编译模型"
    ),
    "{}: the model holds no net; compile it again": "{}：模型中没有网络；请重新编译",
    "{}: there is no net {}; the file holds {}": "{}：没有网络 {}；文件中有 {}",
    "{}: the net {} has no stage {}; it has {}": "{}：网络 {} 没有 stage {}；现有 {}",
    "there is no net {}": "没有网络 {}",
    "a list claims {} entries in a block of {} bytes": "列表声明 {} 项，而所在的块只有 {} 字节",
    "its parts are more than {} times the {} bytes that hold them": "其各部分超过所在 {1} 字节的 {0} 倍",
    "tensor {} has the unknown data type {}": "张量 {} 的数据类型 {} 未知",
    "tensor {} has the impossible shape {}": "张量 {} 的形状 {} 不可能",
    "{}: {}: {} bytes of DDR, more than this machine can give (limit: {}); is the file damaged?": (
        "{}：{}：需要 {} 字节 DDR，超过本机所能提供的（上限：{}）；文件是否损坏？"
    ),
    "{}: deadlock: {}; the model is damaged": "{}：死锁：{}；模型已损坏",
    # .cvimodel
    "an argument of no known kind": "参数的种类未知",
    "{}: not a cvimodel: it does not begin with {} and a heading of {} bytes": (
        "{}：不是 cvimodel：开头不是 {} 和 {} 字节的文件头"
    ),
    "{}: truncated cvimodel: its heading announces {} bytes and the file has {}; copy or compile it again": (
        "{}：cvimodel 不完整：文件头声明 {} 字节，而文件有 {} 字节；请重新复制或编译"
    ),
    "{}: section {} is encrypted: only a runtime that has its key reads it; give the model as the compiler wrote it": (
        "{}：段 {} 已加密：只有持有密钥的 runtime 能读取；请给出编译器写出的模型"
    ),
    "{}: section {} announces {} bytes in {} packed ones; is the file damaged?": (
        "{}：段 {} 声明 {} 字节，压缩后为 {} 字节；文件是否损坏？"
    ),
    "{}: the compressed section {} is damaged ({}); copy or compile it again": (
        "{}：压缩段 {} 已损坏（{}）；请重新复制或编译"
    ),
    "a part at {} is beyond the {} bytes": "位于 {} 的部分超出 {} 字节",
    "a text or list at {} claims {} bytes of {}": "位于 {} 的文本或列表声明 {} 字节，而共有 {} 字节",
    "it holds {} bytes instead of {}": "含有 {} 字节，应为 {}",
    "{} literal bytes at {} do not fit": "位于 {1} 的 {0} 个字面字节放不下",
    "a match of {} bytes at {} does not fit": "位于 {1} 的 {0} 字节匹配放不下",
    "it ends within a length": "在长度字段之中结束",
    "{}: the program has one memory of {} bytes for all its tensors, as only compilers of format 1.1 and older made; "
    "this is format {}, compile it again": (
        "{}：程序的全部张量共用一块 {} 字节的内存，只有格式 1.1 及更早的编译器如此；此文件为格式 {}，请重新编译"
    ),
    "{}: the tensor {} is not described; copy or compile the model again": "{}：张量 {} 没有描述；请重新复制或编译模型",
    "{}: the commands of routine {} are only in the DMA buffer {}, which is not decoded; give the model as the "
    "compiler wrote it": "{}：例程 {} 的命令只在 DMA 缓冲区 {} 中，无法解码；请给出编译器写出的模型",
    "{}: routine {} has its commands in the section {}, which is not in the file; copy or compile the model again": (
        "{}：例程 {} 的命令在段 {} 中，而文件里没有该段；请重新复制或编译模型"
    ),
    "{}: the host function of routine {} is damaged ({}); compile or copy the model again": (
        "{}：例程 {} 的主机函数已损坏（{}）；请重新编译或复制模型"
    ),
    "its name is {}": "其名称为 {}",
    "the arguments of {}": "{} 的参数",
    # final.mlir and tensor_location.json
    "{}... in final.mlir has {} digits; is the file damaged?": "final.mlir 中的 {}... 有 {} 位数字；文件是否损坏？",
    "{}: line {} is no row of a layer; compile the model again with --debug": (
        "{}：第 {} 行不是层的记录；请用 --debug 重新编译模型"
    ),
    "compile the model again with --debug": "请用 --debug 重新编译模型",
    "tensor_location.json: a buffer has no usable address or size; compile the model again with --debug": (
        "tensor_location.json：某个缓冲区没有可用的地址或大小；请用 --debug 重新编译模型"
    ),
    "tensor_location.json: a tensor has no usable {}; compile the model again with --debug": (
        "tensor_location.json：某个张量没有可用的 {}；请用 --debug 重新编译模型"
    ),
    "tensor_location.json: the {} of {} at line {} are damaged ({}); {}": (
        "tensor_location.json：{1} 的 {0}（第 {2} 行）已损坏（{3}）；{4}"
    ),
    "{}: not a usable list of records: {}; {}": "{}：不是可用的记录列表：{}；{}",
    "{}: belongs to another model: record {} is {} at line {}, but that line of {} {}; use the files of one "
    "compilation": "{}：属于另一个模型：记录 {} 为 {}（第 {} 行），但 {} 的该行 {}；请使用同一次编译的文件",
    "{}: belongs to another model: record {} ({}) ends at {} command {} of subnet {}, core {}, which has {}; use the "
    "files of one compilation": (
        "{}：属于另一个模型：记录 {}（{}）结束于子网 {5}、核 {6} 的 {3} 命令 {4}，而那里有 {7}；请使用同一次编译的文件"
    ),
    "holds no operation": "没有操作",
    "there is no record {}": "没有记录 {}",
    "{}: a type with several scales is not known": "{}：不支持带多个 scale 的类型",
    "{}: a type with a scale of each channel is not known": "{}：不支持每通道 scale 的类型",
    "{}: this type is not known": "{}：未知的类型",
    "{}: the layers of the original model are not known: {}": "{}：原始模型的层未知：{}",
    # Inputs
    "no inputs": "没有输入",
    "not used as the inputs: {}": "未用作输入：{}",
    "{}: {} is not a number type; {} needs {}": "{}：{} 不是数值类型；{} 需要 {}",
    "{}: shape {*} does not fit input {} of shape {*}: the same axes in another order; give the array.transpose({*})": (
        "{}：形状 {*} 与输入 {} 的形状 {*} 不符：轴相同而次序不同；请给出 array.transpose({*})"
    ),
    "{}: shape {*} does not fit input {} of shape {*}: as many numbers in another layout": (
        "{}：形状 {*} 与输入 {} 的形状 {*} 不符：数的个数相同而布局不同"
    ),
    "{}: shape {*} does not fit input {} of shape {*}": "{}：形状 {*} 与输入 {} 的形状 {*} 不符",
    "{}: {} of {} numbers are too large for input {} of type {}, the first is {}": (
        "{0}：{2} 个数中有 {1} 个超出类型为 {4} 的输入 {3} 的范围，第一个是 {5}"
    ),
    "{}: holds NaN, which input {} of type {} cannot be": "{}：含有 NaN，而类型为 {2} 的输入 {1} 不能取 NaN",
    "{}: values from {} to {} of type {} do not fit input {} of type {}": (
        "{}：从 {} 到 {} 的 {} 类型数值不适合类型为 {5} 的输入 {4}"
    ),
    "input {} is {} ({} to {}), {} gives {} to {}{}: of the values {}": (
        "输入 {} 为 {}（{} 至 {}），而 {} 给出 {} 至 {}{}：其中的数值{}"
    ),
    "{} are clipped": "{} 被截断",
    "{} are rounded": "{} 被舍入",
    "{} are truncated": "{} 被取整",
    "{}: holds one array; the model's inputs are {*}: give an .npz with these names": (
        "{}：只有一个数组；模型的输入为 {*}：请给出含这些名称的 .npz"
    ),
    "{}: has no array named {}; it holds {*}, the model's inputs are {*}": (
        "{}：没有名为 {} 的数组；其中有 {*}，模型的输入为 {*}"
    ),
    "{}: {} bytes; the inputs {} take {}": "{}：{} 字节；输入 {} 需要 {}",
    "give its numbers: {} holds {}": "请给出其数值：{} 含有 {}",
    "give its numbers, {}, as .npz or .npy; model_transform --test_input writes them as *_in_f32.npz, model_deploy "
    "with fused preprocessing as *_in_ori.npz": (
        "请以 .npz 或 .npy 给出其数值（{}）；model_transform --test_input 将其写为 *_in_f32.npz，"
        "带融合预处理的 model_deploy 写为 *_in_ori.npz"
    ),
    # .npz
    "an npz file": "npz 文件",
    "an npy file": "npy 文件",
    "{}: unpacks to {} bytes, more than {}, the limit for a file of its size; save it without compression "
    "(numpy.savez)": "{}：解压后为 {} 字节，超过此大小文件的上限 {}；请不压缩保存（numpy.savez）",
    "{}: holds {} arrays, more than the limit of {}": "{}：含有 {} 个数组，超过上限 {}",
    "{} has another shape": "{} 的形状不同",
    "another shape": "形状不同",
    "{}: has been changed while it was in use; begin again": "{}：使用期间被改动；请重新开始",
    "version {}.{} of the format is not known": "格式版本 {}.{} 未知",
    "holds Python objects, which are not read: they could be programs": "含有 Python 对象，不予读取：它们可能是程序",
    "its header announces shape {*} of {}, and it has {} bytes": "其文件头声明类型 {1}、形状 {0}，而它有 {2} 字节",
    "its header announces {} bytes and {} came": "其文件头声明 {} 字节，而实际为 {} 字节",
    "neither stored nor deflated": "既未存储也未用 deflate 压缩",
    "Bad magic number for file header": "文件头的魔数不正确",
    "File name in directory {} and header {} differ.": "目录中的文件名 {} 与文件头中的 {} 不一致。",
    "Bad CRC-32 for file {}": "文件 {} 的 CRC-32 不正确",
    "unpacks to more than {} bytes": "解压后超过 {} 字节",
    # Reference
    "the reference": "参考数据",
    "not used as the reference: {}": "未用作参考数据：{}",
    "not used as the reference: {}: {} has shape {*}, that of the model has {*}": (
        "未用作参考数据：{}：{} 的形状为 {*}，模型中为 {*}"
    ),
    "array {} of {} is compared with the only output, {}": "{1} 中的数组 {0} 与唯一的输出 {2} 比较",
    "{}: {} bytes, no .npz and no .npy; the outputs {} take {}, as float32 {}: give the ..._tpu_outputs.npz, or raw "
    "outputs of that size": (
        "{}：{} 字节，不是 .npz 或 .npy；输出 {} 需要 {}（float32 为 {}）："
        "请给出 ..._tpu_outputs.npz，或该大小的原始输出"
    ),
    "{}: {} bytes, no .npz and no .npy; the outputs {} take {}: give the ..._tpu_outputs.npz, or raw outputs of that "
    "size": "{}：{} 字节，不是 .npz 或 .npy；输出 {} 需要 {}：请给出 ..._tpu_outputs.npz，或该大小的原始输出",
    "{}: holds one array; the outputs are {*}: give an .npz with these names": (
        "{}：只有一个数组；输出为 {*}：请给出含这些名称的 .npz"
    ),
    "{}: no name in it ({*}, ...) is a tensor of this model; give the model's own ..._tpu_outputs.npz": (
        "{}：其中没有一个名称（{*}, ...）是此模型的张量；请给出此模型自己的 ..._tpu_outputs.npz"
    ),
    "{}: {}: {} cannot be compared; give real numbers": "{}：{}：{} 无法比较；请给出实数",
    "{} was made with other numbers": "{} 是用其他数值生成的",
    "{}: {} {} was made with other numbers": "{}：{} {} 是用其他数值生成的",
    "all inputs are zero, and the inputs that {} was made with are not given": (
        "所有输入为零，而没有给出生成 {} 时所用的输入"
    ),
    "all inputs are zero, and {} was made with other numbers": "所有输入为零，而 {} 是用其他数值生成的",
    "tolerance {}: {}: {} is a number from {} to {}": "tolerance {}：{}：{} 是从 {} 到 {} 的数",
    "tolerance {}: {} is not LIMIT=NUMBER; limits are {*}, for example 'f16:cosine=0.98' or 'conv*:ulp=2'": (
        "tolerance {}：{} 不是 LIMIT=NUMBER；可用的限值有 {*}，例如 'f16:cosine=0.98' 或 'conv*:ulp=2'"
    ),
    # Opening
    "a fast run has no backend {}: only numpy can leave exactness": "快速运行没有后端 {}：只有 numpy 可以放弃精确",
    "static tables {} are not known; use 'firmware' or 'tdb'": "未知的静态表 {}；请用 'firmware' 或 'tdb'",
    "{}: a recording holds its inputs; leave {} out": "{}：录制文件含有自己的输入；请去掉 {}",
    "{}: holds command streams and no memory, so nothing can be executed; dis, info and profile can be used": (
        "{}：只有命令流而没有内存，无法执行；可以使用 dis、info 和 profile"
    ),
    "{}: a recording is replayed by the built-in simulator; leave the backend {} out": (
        "{}：录制文件由内置模拟器重放；请去掉后端 {}"
    ),
    "{}: {} has shape {*}, the model was compiled for {*}; other shapes of a dynamic model are run by the vendor's "
    "runtime, which made no recording here: see tdb-dap backends": (
        "{}：{} 的形状为 {*}，模型是为 {*} 编译的；动态模型的其他形状由厂商的 runtime 运行，而它在这里没有录制："
        "见 tdb-dap backends"
    ),
    "stage {} takes it": "stage {} 接受它",
    "the stages take {}": "各 stage 接受 {}",
    "the dynamic subnets were not recorded: {}": "没有录制动态子网：{}",
}
