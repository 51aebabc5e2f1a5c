"""Simplified Chinese of what is said about language models and about the op at fault."""

TEXTS = {
    # LoRA
    "{}: {}: only plain LoRA is known": "{}：{}：只支持普通的 LoRA",
    "{}: {}: only LoRA of linear layers in blocks is known": "{}：{}：只支持 block 中线性层的 LoRA",
    "{}: the two factors for {} do not fit together": "{}：{} 的两个因子彼此不符",
    "{}: has no place for LoRA of {}; convert it with --lora_max_rank": (
        "{}：没有存放 {} 的 LoRA 的位置；请用 --lora_max_rank 转换"
    ),
    "{}: rank {} of {}; the model was converted for at most {} (--lora_max_rank)": (
        "{}：{2} 的秩为 {1}；模型转换时最多为 {3}（--lora_max_rank）"
    ),
    "{}: {} has {} numbers in a row, too many": "{}：{} 一行有 {} 个数，过多",
    # The prompt
    "the prompt is empty; give at least one token": "提示词为空；请至少给出一个 token",
    "the prompt has {} tokens; the model was converted for at most {} (--max_input_length, --seq_length)": (
        "提示词有 {} 个 token；模型转换时最多为 {} 个（--max_input_length, --seq_length）"
    ),
    "--tokens {}: give a number of at least 1": "--tokens {}：请给出至少为 1 的数",
    "{} tokens of the prompt and {} more do not fit into the cache of {} positions; give --tokens {} or less": (
        "提示词的 {} 个 token 加上另外 {} 个放不进 {} 个位置的缓存；请给出 --tokens {} 或更少"
    ),
    "{} tokens are given for {}: the last one is always the model's": (
        "给出了 {} 个 token，而需要 {} 个：最后一个总是由模型给出"
    ),
    "{}: has no net {}; convert it with --do_sample": "{}：没有网络 {}；请用 --do_sample 转换",
    "{} knows {} tokens; {} of the prompt and {} are more": "{} 支持 {} 个 token；提示词的 {} 个加上 {} 个超出",
    "token {} is not in the vocabulary of {}": "token {} 不在大小为 {} 的词表中",
    "sample: {} is none of {*}, such as temperature=0.7": "sample：{} 不是 {*} 之一，例如 temperature=0.7",
    "{} of {} logits are NaN: none is likely": "{1} 个 logits 中有 {0} 个是 NaN：无法取概率最高者",
    "a number above 0": "大于 0 的数",
    "a whole number from 1 to {}": "从 1 到 {} 的整数",
    "a number above 0, at most 1": "大于 0 且不超过 1 的数",
    "a whole number of at least 0": "不小于 0 的整数",
    "sample: {} takes {}, not {}": "sample：{} 需要{}，而不是 {}",
    # The model
    "{}: {} bmodels are in it ({*}); give one of them": "{}：其中有 {} 个 bmodel（{*}）；请给出其中一个",
    "{}: was converted for a batch of {}; only one prompt can be run": "{}：转换时 batch 为 {}；只能运行一个提示词",
    "{}: no bmodel is in it; give the folder that the converter has written, or the bmodel": (
        "{}：其中没有 bmodel；请给出转换器写出的文件夹，或 bmodel"
    ),
    "{}: dynamic blocks ({*}): the commands are made while the vendor's runtime runs; add --record FILE.tdbrec, which "
    "runs it there": "{}：动态 block（{*}）：命令在厂商 runtime 运行时生成；请加上 --record FILE.tdbrec，在那里运行",
    "{}: net {} has the inputs {*} and {} outputs, which no known form of a language model has; a pipeline file can "
    "run its nets (--pipeline)": (
        "{}：网络 {} 的输入为 {*}，有 {} 个输出，不是已知形式的语言模型；可以用流水线文件运行其网络（--pipeline）"
    ),
    "{}: llm runs bmodels, and this is a cvimodel; use run, check or debug": (
        "{}：llm 运行 bmodel，而这是 cvimodel；请使用 run、check 或 debug"
    ),
    "{}: is no language model that can be run: it has no net {}": "{}：不是可以运行的语言模型：没有网络 {}",
    "{}: is no language model that can be run: it has no net {}; of a model converted with --embedding_disk also "
    "embedding.bin is needed": (
        "{}：不是可以运行的语言模型：没有网络 {}；用 --embedding_disk 转换的模型还需要 embedding.bin"
    ),
    "{}: no chat template is in it or in config (tokenizer_config.json, chat_template.jinja); copy it there from the "
    "model, or leave --chat out": (
        "{}："
        "其中或 config 中没有对话模板（tokenizer_config.json, chat_template.jinja）；请从模型复制到那里，或去掉 --chat"
    ),
    "{}: no tokenizer.json is in it or in config; copy it there from the model, or give the prompt as numbers of "
    "tokens": "{}：其中或 config 中没有 tokenizer.json；请从模型复制到那里，或以 token 编号给出提示词",
    "{}: the package jinja2 reads its chat template: pip install jinja2": (
        "{}：读取其对话模板需要软件包 jinja2：pip install jinja2"
    ),
    "{}: its chat template makes an empty text; leave --chat out": "{}：其对话模板生成的文本为空；请去掉 --chat",
    "it makes {} characters; {} are read": "它生成 {} 个字符；最多读取 {} 个",
    "a chat begins with a text, not with numbers of tokens; give --prompt, or leave --chat out": (
        "对话以文本开始，而不是 token 编号；请给出 --prompt，或去掉 --chat"
    ),
    "{}: its chat template takes more than {} seconds; leave --chat out": "{}：其对话模板耗时超过 {} 秒；请去掉 --chat",
    "it asks for more than {} of memory": "它请求超过 {} 的内存",
    "{}: the package tokenizers reads it: pip install tokenizers, or give the prompt with --ids": (
        "{}：读取它需要软件包 tokenizers：pip install tokenizers，或用 --ids 给出提示词"
    ),
    "{}: its chat template cannot be used: {}; leave --chat out": "{}：无法使用其对话模板：{}；请去掉 --chat",
    "net {} has no input or output {}": "网络 {} 没有输入或输出 {}",
    "{} cannot run together with the vendor's runtime": "{} 不能与厂商的 runtime 一起运行",
    # Pictures
    "the picture has {}x{} pixels; it may be {} times as long as wide": "图片为 {}x{} 像素；长宽比最多为 {}",
    "a picture of {}x{} pixels needs {}; the net vit takes {}": "{}x{} 像素的图片需要 {}；网络 vit 接受 {}",
    "{} of the net vit has the shape {*}; the picture needs {*}": "网络 vit 的 {} 形状为 {*}；图片需要 {*}",
    "the prompt has the token of a picture ({}) {} times; give it once, or {} times in a row": (
        "提示词中图片的 token（{}）出现 {} 次；请给出一次，或连续 {} 次"
    ),
    "--image and --embeds: give one of them": "--image 与 --embeds：请只给出其中一个",
    "{}: has no net {}, which --image needs; it takes no pictures": "{}：没有 --image 所需的网络 {}；它不接受图片",
    "{}: no config.json is in its folder or in config; copy it from the model": (
        "{}：其文件夹或 config 中没有 config.json；请从模型复制"
    ),
    "{}: input {} of the net {} is not known; give --embeds": "{}：网络 {2} 的输入 {1} 未知；请给出 --embeds",
    "{}: has {} patches, and the net {} without a mask takes {}": "{}：有 {} 个 patch，而没有掩码的网络 {} 接受 {}",
    "{}: no array {} (has: {*}); give (rows, hidden)": "{}：没有数组 {}（现有：{*}）；请给出 `(rows, hidden)`",
    "{}: {} holds {} to {}; the prompt has {} tokens": "{}：{} 含有 {} 至 {}；提示词有 {} 个 token",
    "{}: {} is added by the net add, and {} has none": "{}：{} 由网络 add 相加，而 {} 没有该网络",
    "{}: {} must have the shape ({}, {})": "{}：{} 的形状必须为 `({}, {})`",
    "{}: holds {} {*}; give uint8 (height, width, 3)": "{}：含有 {} {*}；请给出 uint8 `(height, width, 3)`",
    "config.json has no {}, the token of a picture; give its places as {} in --embeds": (
        "config.json 中没有图片的 token {}；请在 --embeds 中以 {} 给出其位置"
    ),
    "{}: {} has the shape {*}; the prompt has {} tokens of pictures, and the model {} numbers in a row": (
        "{}：{} 的形状为 {*}；提示词有 {} 个图片 token，而模型每行 {} 个数"
    ),
    "{}: the package pillow reads it: pip install pillow, or give a .npy of uint8": (
        "{}：读取它需要软件包 pillow：pip install pillow，或给出 uint8 的 .npy"
    ),
    # Pipelines
    "{}: launches no net; add a step such as 'launch: encoder'": (
        "{}：没有启动任何网络；请添加步骤，例如 'launch: encoder'"
    ),
    "{{}} cannot be computed; it is arithmetic (+ - * // %) of numbers{}": (
        "{{}} 无法计算；应为数的算术运算（+ - * // %）{}"
    ),
    "{}: has more than {} steps": "{}：超过 {} 个步骤",
    "is no list of steps": "不是步骤的列表",
    "is none of {*}: {}": "不是 {*} 之一：{}",
    "{} has no {}; it has {*}": "{} 没有 {}；现有 {*}",
    "{} is no name for a loop": "{} 不是循环的名称",
    "runs {} times; at most {}": "运行 {} 次；最多 {} 次",
    "{} is no tensor; write net.tensor, or net.tensor[first:stop]": (
        "{} 不是张量；请写 net.tensor，或 net.tensor[first:stop]"
    ),
    "{} has no elements": "{} 没有元素",
    "{} is no number, no list of them and no FILE.npz:NAME": "{} 不是数、数的列表或 FILE.npz:NAME",
    "{} is no name": "{} 不是名称",
    "all loops together run more than {} times": "全部循环合计运行超过 {} 次",
    "{} is no whole number": "{} 不是整数",
    "{} is no net; write net or net:STAGE": "{} 不是网络；请写 net 或 net:STAGE",
    "the run shows a picture (net {}); give it with --image FILE": (
        "此次运行带有图片（网络 {}）；请用 --image FILE 给出"
    ),
    "the run does not begin with the net embedding; give its prompt with --ids": (
        "此次运行不是从网络 embedding 开始；请用 --ids 给出提示词"
    ),
    # What a net is given
    "{} is given {}": "{} 的输入为 {}",
    "A net is given something wrong": "网络的输入不正确",
    "{} differs from the float model": "{} 与浮点模型不一致",
    "the rows of the picture": "图片的各行",
    "{*} {} instead of {} at {*}": "{*} {}，应为 {}，位于 {*}",
    "{} holds {} positions instead of {}": "{} 含有 {} 个位置，应为 {}",
    "is hidden from": "对其不可见",
    "is seen by": "对其可见",
    "the position itself": "该位置本身",
    "it is the token of position {}, {}": "它是位置 {} 的 token，{}",
    "it is no token before that position": "它不是该位置之前的 token",
    "its line is at position {}": "其行位于位置 {}",
    "the line is not written: it is as it was before": "该行未写入：与之前相同",
    "the line is not written: it is zero": "该行未写入：为零",
    "they are not written: all are zero": "它们未写入：全部为零",
    "they are the states of {}, position {}": "它们是 {} 的状态，位置 {}",
    "it holds {} of position {}{*}": "它含有位置 {1} 的 {0}{2}",
    "the line": "该行",
    # The op at fault
    "{} is not the input that the reference was made with{*}: no op is judged": (
        "{} 不是生成参考数据时所用的输入{*}：不判定任何 op"
    ),
    "{*} is at fault: wrong with the reference's operands, too": "{*} 出错：用参考数据的操作数也不正确",
    "; or {} before it, whose results the reference does not hold": "；或其之前的 {}，参考数据中没有其结果",
    "inherits from {}": "由 {} 继承",
    "inherits from line {}": "由第 {} 行继承",
    "input {} is overwritten by {} before {} reads it": "输入 {} 在 {2} 读取之前被 {1} 覆盖",
    "{} goes into the net with other numbers than the reference was made with": (
        "{} 进入网络时的数值与生成参考数据时不同"
    ),
    "{} is right when line {} has computed it and wrong when {} reads it: {} overwrites it in between": (
        "{} 在第 {} 行算出时正确，而 {} 读取时不正确：其间被 {} 覆盖"
    ),
    "{} is right when line {} has computed it; {} overwrites it before {*}": (
        "{} 在第 {} 行算出时正确；{} 在 {*} 之前将其覆盖"
    ),
    "{} reads it": "{} 读取它",
    "{} overwrites it": "{} 将其覆盖",
    "no command writes over it, and it is wrong at the end": "没有命令覆盖它，而它在终点不正确",
    "output {} is right when line {} has computed it; {*}": "输出 {} 在第 {} 行算出时正确；{*}",
    "no op is wrong by itself: errors within the tolerance of each op add up": (
        "没有单独出错的 op：各 op 容差之内的误差累积"
    ),
    "right with the reference's operands; its own are within tolerance: errors add up": (
        "用参考数据的操作数时正确；自身的操作数在容差之内：误差累积"
    ),
    "right with the reference's operands where the reference holds them; it does not hold all of them": (
        "用参考数据所有的操作数时正确；参考数据并不含全部操作数"
    ),
    "at fault": "出错",
    "{}: no op of final.mlir is known to compute it": "{}：final.mlir 中没有已知的 op 计算它",
    "{} and {} more command": "{} 以及另外 {} 条命令",
    "{} and {} more commands": "{} 以及另外 {} 条命令",
    "what differs was inherited, or is what the format costs": "不一致来自前面的 op，或为数值格式的代价",
}
