#loc = loc(unknown)
#loc1 = loc("x")
module @dsqueeze attributes {module.FLOPs = 24 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1688", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["r_Relu"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dsqueeze_tpu_addressed_bm1688_f32_weight.npz"} {
  module @dsqueeze attributes {module.coeff_addr = 618475290624 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 687194767360 : i64, module.neuron_size = 8192 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<2x3x4xf32> loc(unknown)) -> tensor<2x3x4xf32, 687194771456 : i64> {
      %0 = "top.Input"(%arg0) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [3, 4], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32, 687194767360 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<2x3x4xf32, 687194767360 : i64>) -> tensor<2x3x4xf32, 687194771456 : i64> loc(#loc)
      return %1 : tensor<2x3x4xf32, 687194771456 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<2x3x4xf32, 687194767360 : i64> loc("x")) -> tensor<2x3x4xf32, 687194771456 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "tpu.Relu"(%arg0) {relu_limit = -1.000000e+00 : f64} : (tensor<2x3x4xf32, 687194767360 : i64>) -> tensor<2x3x4xf32, 687194771456 : i64> loc(#loc2)
      return %0 : tensor<2x3x4xf32, 687194771456 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("r_Relu")

