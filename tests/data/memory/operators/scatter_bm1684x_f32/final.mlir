#loc = loc(unknown)
#loc1 = loc("x")
module @dscatter attributes {module.FLOPs = 144 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1684x", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["r_Relu"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dscatter_tpu_addressed_bm1684x_f32_weight.npz"} {
  module @dscatter attributes {module.coeff_addr = 4294967296 : i64, module.coeff_size = 8192 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 4294975488 : i64, module.neuron_size = 12288 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<3x4x12xf32> loc(unknown)) -> tensor<3x4x12xf32, 4294979584 : i64> {
      %0 = "top.Input"(%arg0) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [4, 12], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<3x4x12xf32>) -> tensor<3x4x12xf32, 4294975488 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<3x4x12xf32, 4294975488 : i64>) -> tensor<3x4x12xf32, 4294979584 : i64> loc(#loc)
      return %1 : tensor<3x4x12xf32, 4294979584 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<3x4x12xf32, 4294975488 : i64> loc("x")) -> tensor<3x4x12xf32, 4294979584 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "top.Weight"() {path = "tpu.ScatterND.1"} : () -> tensor<2x3xi32, 4294967296 : i64> loc(#loc2)
      %1 = "top.Weight"() {path = "tpu.ScatterND.2"} : () -> tensor<2xf32, 4294971392 : i64> loc(#loc3)
      %2 = "tpu.Buffer"() {buffer_type = #tpu<buffer_type GMEM>} : () -> tensor<2xi32, 4294979584 : i64> loc(#loc4)
      %3 = "tpu.ScatterND"(%arg0, %0, %1, %2) {reduction = 0 : i32} : (tensor<3x4x12xf32, 4294975488 : i64>, tensor<2x3xi32, 4294967296 : i64>, tensor<2xf32, 4294971392 : i64>, tensor<2xi32, 4294979584 : i64>) -> tensor<3x4x12xf32, 4294983680 : i64> loc(#loc5)
      %4 = "tpu.Relu"(%3) {relu_limit = -1.000000e+00 : f64} : (tensor<3x4x12xf32, 4294983680 : i64>) -> tensor<3x4x12xf32, 4294979584 : i64> loc(#loc6)
      return %4 : tensor<3x4x12xf32, 4294979584 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("s_ScatterND_indices_int32")
#loc3 = loc("u")
#loc4 = loc("s_ScatterND_buffer")
#loc5 = loc("s_ScatterND")
#loc6 = loc("r_Relu")

