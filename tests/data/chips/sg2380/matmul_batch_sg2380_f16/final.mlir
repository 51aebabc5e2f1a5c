#loc = loc(unknown)
#loc1 = loc("a")
#loc2 = loc("b")
module @matmul_batch attributes {module.FLOPs = 15360 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "sg2380", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["a", "b"], module.mode = "F16", module.outputs = ["matmul1_MatMul_f32"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "matmul_batch_tpu_addressed_sg2380_f16_weight.npz"} {
  module @matmul_batch attributes {module.coeff_addr = 1099511627776 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 2199023255552 : i64, module.neuron_size = 20480 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<1x4x10x16xf32> loc(unknown), %arg1: tensor<1x4x16x12xf32> loc(unknown)) -> tensor<1x4x10x12xf32, 2199023263744 : i64> {
      %0 = "top.Input"(%arg0) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [10, 16], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<1x4x10x16xf32>) -> tensor<1x4x10x16xf32, 2199023259648 : i64> loc(#loc1)
      %1 = "top.Input"(%arg1) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [10, 16], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<1x4x16x12xf32>) -> tensor<1x4x16x12xf32, 2199023255552 : i64> loc(#loc2)
      %2 = call @subfunc_0(%0, %1) : (tensor<1x4x10x16xf32, 2199023259648 : i64>, tensor<1x4x16x12xf32, 2199023255552 : i64>) -> tensor<1x4x10x12xf32, 2199023263744 : i64> loc(#loc)
      return %2 : tensor<1x4x10x12xf32, 2199023263744 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<1x4x10x16xf32, 2199023259648 : i64> loc("a"), %arg1: tensor<1x4x16x12xf32, 2199023255552 : i64> loc("b")) -> tensor<1x4x10x12xf32, 2199023263744 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Cast"(%arg1) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<1x4x16x12xf32, 2199023255552 : i64>) -> tensor<1x4x16x12xf16, 2199023263744 : i64> loc(#loc3)
      %2 = "tpu.Cast"(%arg0) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<1x4x10x16xf32, 2199023259648 : i64>) -> tensor<1x4x10x16xf16, 2199023267840 : i64> loc(#loc4)
      %3 = "tpu.MatMul"(%2, %1, %0, %0, %0) {do_relu = false, dq_type = "NONE", fuse_rq = false, hdim_is_batch = false, input_zp = 0 : i64, is_lora = false, keep_dims = true, left_reuse = 0 : i64, left_transpose = false, multipliers = [1], output_transpose = false, q_group_size = 0 : i64, quant_mode = #tpu<rq_mode MultiplierShift>, relu_limit = -1.000000e+00 : f64, right_transpose = false, right_zp = 0 : i64, round_mode = #tpu<round_mode HalfAwayFromZero>, rshifts = [0]} : (tensor<1x4x10x16xf16, 2199023267840 : i64>, tensor<1x4x16x12xf16, 2199023263744 : i64>, none, none, none) -> tensor<1x4x10x12xf16, 2199023271936 : i64> loc(#loc5)
      %4 = "tpu.Cast"(%3) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<1x4x10x12xf16, 2199023271936 : i64>) -> tensor<1x4x10x12xf32, 2199023263744 : i64> loc(#loc6)
      return %4 : tensor<1x4x10x12xf32, 2199023263744 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc3 = loc("bmatmul1_MatMul_f16")
#loc4 = loc("amatmul1_MatMul_f16")
#loc5 = loc("matmul1_MatMul")
#loc6 = loc("matmul1_MatMul_f32")

