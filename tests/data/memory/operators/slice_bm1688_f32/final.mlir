#loc = loc(unknown)
#loc1 = loc("x")
module @dslice attributes {module.FLOPs = 128 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1688", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["z_Relu"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dslice_tpu_addressed_bm1688_f32_weight.npz"} {
  module @dslice attributes {module.coeff_addr = 618475290624 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 687194767360 : i64, module.neuron_size = 12288 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<4x6x8xf32> loc(unknown)) -> tensor<4x4x8xf32, 687194775552 : i64> {
      %0 = "top.Input"(%arg0) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [6, 8], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<4x6x8xf32>) -> tensor<4x6x8xf32, 687194767360 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<4x6x8xf32, 687194767360 : i64>) -> tensor<4x4x8xf32, 687194775552 : i64> loc(#loc)
      return %1 : tensor<4x4x8xf32, 687194775552 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<4x6x8xf32, 687194767360 : i64> loc("x")) -> tensor<4x4x8xf32, 687194775552 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Slice"(%arg0, %0, %0, %0, %0) {axes = [], ends = [4, 5, 8], hasparamConvert_axes = [1], offset = [0, 1, 0], steps = [1, 1, 1]} : (tensor<4x6x8xf32, 687194767360 : i64>, none, none, none, none) -> tensor<4x4x8xf32, 687194771456 : i64> loc(#loc2)
      %2 = "tpu.Relu"(%1) {relu_limit = -1.000000e+00 : f64} : (tensor<4x4x8xf32, 687194771456 : i64>) -> tensor<4x4x8xf32, 687194775552 : i64> loc(#loc3)
      return %2 : tensor<4x4x8xf32, 687194775552 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("y_Slice")
#loc3 = loc("z_Relu")

