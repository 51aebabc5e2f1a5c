#loc = loc(unknown)
#loc1 = loc("x")
module @dnonzero attributes {module.FLOPs = 96 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1688", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["z_NonZero_permute"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dnonzero_tpu_addressed_bm1688_f32_weight.npz"} {
  module @dnonzero attributes {module.coeff_addr = 618475290624 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 687194767360 : i64, module.neuron_size = 12288 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<2x3x4xf32> loc(unknown)) -> tensor<3x24xi32, 687194771456 : i64> {
      %0 = "top.Input"(%arg0) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [3, 4], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32, 687194767360 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<2x3x4xf32, 687194767360 : i64>) -> tensor<3x24xi32, 687194771456 : i64> loc(#loc)
      return %1 : tensor<3x24xi32, 687194771456 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<2x3x4xf32, 687194767360 : i64> loc("x")) -> tensor<3x24xi32, 687194771456 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Buffer"() {buffer_type = #tpu<buffer_type GMEM>} : () -> tensor<2x3x4xf32, 687194771456 : i64> loc(#loc2)
      %2 = "tpu.NonZero"(%arg0, %1) {order = "ColMajor"} : (tensor<2x3x4xf32, 687194767360 : i64>, tensor<2x3x4xf32, 687194771456 : i64>) -> tensor<24x3xi32, 687194775552 : i64> loc(#loc3)
      %3 = "tpu.Permute"(%2, %0) {order = [1, 0]} : (tensor<24x3xi32, 687194775552 : i64>, none) -> tensor<3x24xi32, 687194771456 : i64> loc(#loc4)
      return %3 : tensor<3x24xi32, 687194771456 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("z_NonZero_buffer")
#loc3 = loc("z_NonZero")
#loc4 = loc("z_NonZero_permute")

