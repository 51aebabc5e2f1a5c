#loc = loc(unknown)
#loc1 = loc("x")
module @wideB attributes {module.FLOPs = 98496000 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1684x", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F16", module.outputs = ["z_Add_f32"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "wideb_tpu_addressed_bm1684x_f16_weight.npz"} {
  module @wideB attributes {module.coeff_addr = 4294967296 : i64, module.coeff_size = 6168576 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 6168576 : i64, module.neuron_addr = 4301135872 : i64, module.neuron_size = 1171456 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<1x16x256xf32> loc(unknown)) -> tensor<1x16x12000xf32, 4301152256 : i64> {
      %0 = "top.Input"(%arg0) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [16, 256], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<1x16x256xf32>) -> tensor<1x16x256xf32, 4301135872 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<1x16x256xf32, 4301135872 : i64>) -> tensor<1x16x12000xf32, 4301152256 : i64> loc(#loc)
      return %1 : tensor<1x16x12000xf32, 4301152256 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<1x16x256xf32, 4301135872 : i64> loc("x")) -> tensor<1x16x12000xf32, 4301152256 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Cast"(%arg0) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<1x16x256xf32, 4301135872 : i64>) -> tensor<1x16x256xf16, 4301152256 : i64> loc(#loc2)
      %2 = "top.Weight"() {path = "tpu.MatMul.weight"} : () -> tensor<1x256x12000xf16, 4294967296 : i64> loc(#loc3)
      %3 = "top.Weight"() {path = "tpu.MatMul.bias"} : () -> tensor<1x1x12000xf16, 4301111296 : i64> loc(#loc4)
      %4 = "tpu.MatMul"(%1, %2, %3, %0, %0) {do_relu = false, dq_type = "NONE", fuse_rq = false, hdim_is_batch = false, input_zp = 0 : i64, is_lora = false, keep_dims = true, left_reuse = 0 : i64, left_transpose = false, multipliers = [1], output_transpose = false, q_group_size = 0 : i64, quant_mode = #tpu<rq_mode MultiplierShift>, relu_limit = -1.000000e+00 : f64, right_transpose = false, right_zp = 0 : i64, round_mode = #tpu<round_mode HalfAwayFromZero>, rshifts = [0]} : (tensor<1x16x256xf16, 4301152256 : i64>, tensor<1x256x12000xf16, 4294967296 : i64>, tensor<1x1x12000xf16, 4301111296 : i64>, none, none) -> tensor<1x16x12000xf16, 4301922304 : i64> loc(#loc5)
      %5 = "tpu.Cast"(%4) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<1x16x12000xf16, 4301922304 : i64>) -> tensor<1x16x12000xf32, 4301152256 : i64> loc(#loc6)
      return %5 : tensor<1x16x12000xf32, 4301152256 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("xz_Add_f16")
#loc3 = loc("w_f16")
#loc4 = loc("b_f16")
#loc5 = loc("z_Add")
#loc6 = loc("z_Add_f32")

