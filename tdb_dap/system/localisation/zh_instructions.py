"""Simplified Chinese of what each family of instructions computes, and of where its times come from."""

TEXTS = {
    "One operation per element of up to three operands; a stride of zero repeats an element.": (
        "对至多三个操作数逐元素运算；步长为零时重复同一元素。"
    ),
    "One operation per element of one or two operands; a stride of zero repeats an element.": (
        "对一个或两个操作数逐元素运算；步长为零时重复同一元素。"
    ),
    "One operation per element of two aligned operands; ``res_add``: added to the old result.": (
        "对两个对齐的操作数逐元素运算；``res_add``：累加到旧结果。"
    ),
    "Copy of a tensor in n, c, h, w order, of a matrix or of a run of numbers; transposed, or a constant.": (
        "按 n, c, h, w 次序复制张量、矩阵或一段连续的数；可转置，或为常数。"
    ),
    "result = table[the low bits of the index]; the table is in L2 and has a power of two of words.": (
        "result = table[索引的低位]；表在 L2 中，字数为 2 的幂。"
    ),
    "taylor: a series without constant term, coefficients in L2; fp32_to_int; exponent and power of two; rsqrt.": (
        "taylor：无常数项的级数，系数在 L2 中；fp32_to_int；指数与 2 的幂；rsqrt。"
    ),
    "mac: input * factor + addend.": "mac：input * factor + addend。",
    "select: left > right ? when_true : when_false, as the second result.": (
        "select：left > right ? when_true : when_false，作为第二个结果。"
    ),
    "result = left x right (+ bias row) (+ old).": "result = left x right（加 bias 行）（加旧值）。",
    "Product of two matrices stored as tensors.": "以张量形式存放的两个矩阵之积。",
    "A tensor correlated with another as its kernel, with the operation of the sub type.": (
        "以另一张量为核做相关运算，运算由子类型决定。"
    ),
    "Sum over the axes in which the result has one element.": "在结果只有一个元素的各轴上求和。",
    "A tensor of local memory in another arrangement.": "改变 local memory 中张量的排布。",
    "A compressed tensor of local memory to a plain one.": "将 local memory 中的压缩张量解压。",
    "result[i, j] = left[i] (operation) right[j]; the left one is cut into blocks of columns, one lane each.": (
        "result[i, j] = left[i] (operation) right[j]；左操作数按列分块，每个 lane 一块。"
    ),
    "Two-dimensional convolution.": "二维卷积。",
    "Window functions per channel: maximum; sum of input * kernel, with one constant weight for the average.": (
        "逐通道的窗口函数：最大值；input * kernel 之和，求平均时为一个常数权重。"
    ),
    "condition(left, right) ? when_true : when_false; two forms also give the greater or lesser of left and right.": (
        "condition(left, right) ? when_true : when_false；另有两种形式给出 left 与 right 中的较大或较小者。"
    ),
    "Gradient of the weight of a convolution.": "卷积权重的梯度。",
    "One operation per element of one or two operands; a step of zero repeats an element.": (
        "对一个或两个操作数逐元素运算；步进为零时重复同一元素。"
    ),
    "result = table[the low byte of the index]; each lane has its table, at the same byte.": (
        "result = table[索引的低字节]；每个 lane 在相同的字节处有自己的表。"
    ),
    "result = left x right + bias.": "结果：result = left x right + bias。",
    "Copy of a tensor or matrix, batches and channels exchanged, or a constant.": (
        "复制张量或矩阵，可交换 batch 与通道，或为常数。"
    ),
    "The largest or smallest number of each window, starting at the padding's value; or the sum times one number.": (
        "每个窗口中的最大或最小数，从填充值开始；或其和乘以一个数。"
    ),
    "Each channel of the image by its own kernel, in the channel's lane, or by one number.": (
        "图像的每个通道与该通道所在 lane 中的核相乘，或与一个数相乘。"
    ),
    "A tensor of this chip to the one that receives; ``accumulate``: into what is there.": (
        "将本芯片的张量发送到接收芯片；``accumulate``：累加到已有的内容。"
    ),
    "A tensor from another chip, stored or combined with what is there; the sender knows its number format.": (
        "来自另一芯片的张量，存储或与已有内容合并；数值格式由发送方决定。"
    ),
    "A tensor between two chips.": "两个芯片之间的张量。",
    "Consecutive elements between two chips.": "两个芯片之间的连续元素。",
    "A tensor sent as 20-bit floats, or 20-bit floats sent as a tensor.": (
        "张量以 20 位浮点发送，或 20 位浮点以张量发送。"
    ),
    "A buffer sent as a network frame.": "以网络帧发送缓冲区。",
    "Synchronisation between chips.": "芯片之间的同步。",
    "destination[c, i, :] = source[c, index[c, i] - start, :], or the constant where the index is out of range.": (
        "destination[c, i, :] = source[c, index[c, i] - start, :]，索引越界时为常数。"
    ),
    "destination[c, index[c, i] - start, :] = source[c, i, :]; an index out of range is ignored.": (
        "destination[c, index[c, i] - start, :] = source[c, i, :]；忽略越界的索引。"
    ),
    "The elements of the source whose mask is not zero, one after another in n, c, h, w order.": (
        "源中掩码非零的元素，按 n, c, h, w 次序依次排列。"
    ),
    "Linear indices of the non-zero elements plus a base, one after another.": "非零元素的线性索引加上基数，依次排列。",
    "float32 to packed 20-bit floats.": "float32 转为紧凑的 20 位浮点。",
    "Packed 20-bit floats to float32.": "紧凑的 20 位浮点转为 float32。",
    "Copy between a dense matrix in DDR and one cut into blocks of ``wsize`` columns, one lane each.": (
        "在 DDR 中的稠密矩阵与按 ``wsize`` 列分块（每个 lane 一块）的矩阵之间复制。"
    ),
    "A compressed tensor (payload and table of lengths) to a plain one.": "将压缩张量（载荷与长度表）解压。",
    "A plain tensor to a compressed one (payload and table of lengths).": "将张量压缩（载荷与长度表）。",
    "A copy with one axis reversed: sub types w, h, c, n.": "反转一个轴的复制：子类型 w, h, c, n。",
    "Copy of a tensor, element by element in n, c, h, w order; the shapes of source and destination may differ.": (
        "按 n, c, h, w 次序逐元素复制张量；源与目的的形状可以不同。"
    ),
    "Copy of consecutive elements; broadcast: to the same offset of ``dst_csize`` lanes.": (
        "复制连续的元素；broadcast：到 ``dst_csize`` 个 lane 的相同偏移。"
    ),
    "(n, c, h, w) to (n, w, h, c).": "由 n, c, h, w 转为 n, w, h, c。",
    "result[n, c, i] = data[n, c, index[i]]; scatter the other way round.": (
        "result[n, c, i] = data[n, c, index[i]]；scatter 与之相反。"
    ),
    "Rows by index: result[n, c, i, :] = data[c, index[n, c, i], :]; scatter the other way round.": (
        "按索引取行：result[n, c, i, :] = data[c, index[n, c, i], :]；scatter 与之相反。"
    ),
    "One operation per element of one row per lane, from the lane ``first_lane`` on.": (
        "从 lane ``first_lane`` 起，对每个 lane 的一行逐元素运算。"
    ),
    "mac: input * a + b; square_sum: (input + a)^2; square_diff: (input - a)^2; a and b per channel.": (
        "mac：input * a + b；square_sum：(input + a)^2；square_diff：(input - a)^2；a、b 逐通道。"
    ),
    "result = left x right (+ bias row) (+ old); ``l_trans`` swaps rows and columns of the left operand.": (
        "result = left x right（加 bias 行）（加旧值）；``l_trans`` 交换左操作数的行与列。"
    ),
    "Matrices with rows on lanes: nn: left x right; nt: left x right^T; tt: right x left, the transposed product.": (
        "行分布在各 lane 上的矩阵：nn：left x right；nt：left x right^T；tt：right x left，即转置的积。"
    ),
    "Window functions per channel.": "逐通道的窗口函数。",
    "Integers to integers or floats and back, with numbers per channel from a table or from the command.": (
        "整数与整数、浮点之间的转换，逐通道的参数来自表或命令。"
    ),
    "Random integers from the generators of the lanes; their state may be loaded before and stored after.": (
        "由各 lane 的发生器产生随机整数；可先加载、后保存其状态。"
    ),
    "A mask of random bits; the generator starts from a seed or from a state in memory.": (
        "随机位的掩码；发生器从种子或内存中的状态开始。"
    ),
    "result = max, max of magnitudes, min, sum or sum of powers of each row, or of each channel.": (
        "result = 每行或每个通道的最大值、绝对值最大值、最小值、和或幂之和。"
    ),
    "taylor: Horner's rule over a row of coefficients; rsqrt: 1/sqrt(x) by Newton steps; normalize: the exponent.": (
        "taylor：对一行系数用 Horner 法；rsqrt：以牛顿迭代求 1/sqrt(x)；normalize：取指数。"
    ),
    "Synchronisation and control.": "同步与控制。",
    "Sets up to three configuration registers: the second immediate holds two words.": (
        "设置至多三个配置寄存器：第二个立即数含两个字。"
    ),
    "cw, wc: swap channels and columns; l_copy: copy; l_bc: one lane to all; s_bc, s_distribute: static memory.": (
        "cw, wc：交换通道与列；l_copy：复制；l_bc：一个 lane 到所有 lane；s_bc, s_distribute：static memory。"
    ),
    "result[i, j] = left[i] (operation) right[j]; vectors are cut into blocks of columns, one lane each.": (
        "result[i, j] = left[i] (operation) right[j]；向量按列分块，每个 lane 一块。"
    ),
    # Where times come from
    "fitted to the cycle counts that the compiler leaves in its models": "按编译器写入模型的周期数拟合",
    "fitted to the cycle counts that the compiler leaves in its models; the clock is assumed": (
        "按编译器写入模型的周期数拟合；时钟频率为假定值"
    ),
    "data sheet: 550 MHz, 2.2 TFLOPS of F32, 17.6 TOPS of INT8, 68 GB/s; not compared with anything": (
        "数据手册：550 MHz，F32 2.2 TFLOPS，INT8 17.6 TOPS，68 GB/s；未与其他数据比较"
    ),
    "fitted to the times that the vendor has published for ResNet-18 and MobileNetV2": (
        "按厂商公布的 ResNet-18 和 MobileNetV2 的时间拟合"
    ),
}
