#loc = loc(unknown)
#loc1 = loc("x")
#loc2 = loc("y")
module @dexpand attributes {module.FLOPs = 60 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1684", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x", "y"], module.mode = "F32", module.outputs = ["z_Add"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dexpand_tpu_addressed_bm1684_f32_weight.npz"} {
  module @dexpand attributes {module.coeff_addr = 4379901952 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 4379901952 : i64, module.neuron_size = 12288 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<4x3x5xf32> loc(unknown), %arg1: tensor<1x3x1xf32> loc(unknown)) -> tensor<4x3x5xf32, 4379910144 : i64> {
      %0 = "top.Input"(%arg0) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [3, 5], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<4x3x5xf32>) -> tensor<4x3x5xf32, 4379906048 : i64> loc(#loc1)
      %1 = "top.Input"(%arg1) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [3, 5], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<1x3x1xf32>) -> tensor<1x3x1xf32, 4379901952 : i64> loc(#loc2)
      %2 = call @subfunc_0(%0, %1) : (tensor<4x3x5xf32, 4379906048 : i64>, tensor<1x3x1xf32, 4379901952 : i64>) -> tensor<4x3x5xf32, 4379910144 : i64> loc(#loc)
      return %2 : tensor<4x3x5xf32, 4379910144 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<4x3x5xf32, 4379906048 : i64> loc("x"), %arg1: tensor<1x3x1xf32, 4379901952 : i64> loc("y")) -> tensor<4x3x5xf32, 4379910144 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "tpu.Add"(%arg1, %arg0) {do_relu = false, is_scalar = false, relu_limit = -1.000000e+00 : f64} : (tensor<1x3x1xf32, 4379901952 : i64>, tensor<4x3x5xf32, 4379906048 : i64>) -> tensor<4x3x5xf32, 4379910144 : i64> loc(#loc3)
      return %0 : tensor<4x3x5xf32, 4379910144 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc3 = loc("z_Add")

