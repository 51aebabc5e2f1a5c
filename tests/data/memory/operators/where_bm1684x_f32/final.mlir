#loc = loc(unknown)
#loc1 = loc("x")
#loc2 = loc("y")
module @dwhere attributes {module.FLOPs = 210 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1684x", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x", "y"], module.mode = "F32", module.outputs = ["z_Where"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dwhere_tpu_addressed_bm1684x_f32_weight.npz"} {
  module @dwhere attributes {module.coeff_addr = 4294967296 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 4294967296 : i64, module.neuron_size = 16384 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<3x5x7xf32> loc(unknown), %arg1: tensor<3x5x7xf32> loc(unknown)) -> tensor<3x5x7xf32, 4294979584 : i64> {
      %0 = "top.Input"(%arg0) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [5, 7], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32, 4294971392 : i64> loc(#loc1)
      %1 = "top.Input"(%arg1) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [5, 7], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32, 4294967296 : i64> loc(#loc2)
      %2 = call @subfunc_0(%0, %1) : (tensor<3x5x7xf32, 4294971392 : i64>, tensor<3x5x7xf32, 4294967296 : i64>) -> tensor<3x5x7xf32, 4294979584 : i64> loc(#loc)
      return %2 : tensor<3x5x7xf32, 4294979584 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<3x5x7xf32, 4294971392 : i64> loc("x"), %arg1: tensor<3x5x7xf32, 4294967296 : i64> loc("y")) -> tensor<3x5x7xf32, 4294979584 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Compare"(%arg0, %arg1) {mode = "Greater"} : (tensor<3x5x7xf32, 4294971392 : i64>, tensor<3x5x7xf32, 4294967296 : i64>) -> tensor<3x5x7xf32, 4294975488 : i64> loc(#loc3)
      %2 = "tpu.Where"(%1, %arg0, %arg1, %0) {x_const_val = 0.000000e+00 : f64, x_is_const = false, y_const_val = 0.000000e+00 : f64, y_is_const = false} : (tensor<3x5x7xf32, 4294975488 : i64>, tensor<3x5x7xf32, 4294971392 : i64>, tensor<3x5x7xf32, 4294967296 : i64>, none) -> tensor<3x5x7xf32, 4294979584 : i64> loc(#loc4)
      return %2 : tensor<3x5x7xf32, 4294979584 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc3 = loc("c_Greater")
#loc4 = loc("z_Where")

