#loc = loc(unknown)
#loc1 = loc("x")
module @reach attributes {module.FLOPs = 384 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1684x", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["z_Conv"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "reach_tpu_addressed_bm1684x_f32_weight.npz"} {
  module @reach attributes {module.coeff_addr = 4294967296 : i64, module.coeff_size = 4096 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 4096 : i64, module.neuron_addr = 4294971392 : i64, module.neuron_size = 12288 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<2x24xf32> loc(unknown)) -> tensor<2x4x2xf32, 4294979584 : i64> {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<2x24xf32>) -> tensor<2x24xf32, 4294971392 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<2x24xf32, 4294971392 : i64>) -> tensor<2x4x2xf32, 4294979584 : i64> loc(#loc)
      return %1 : tensor<2x4x2xf32, 4294979584 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<2x24xf32, 4294971392 : i64> loc("x")) -> tensor<2x4x2xf32, 4294979584 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Pad"(%arg0, %0, %0, %0, %0) {mode = #tpu<Pad_Mode reflect>, paddings = [0, 0, 0, 8], val = 0.000000e+00 : f64, with_insert_zero = false} : (tensor<2x24xf32, 4294971392 : i64>, none, none, none, none) -> tensor<2x32xf32, 4294975488 : i64> loc(#loc2)
      %2 = "tpu.Reshape"(%1) {flatten_start_dim = -1 : i64, shape = []} : (tensor<2x32xf32, 4294975488 : i64>) -> tensor<2x1x32xf32, 4294975488 : i64> loc(#loc3)
      %3 = "top.Weight"() {path = "tpu.Conv2D.weight"} : () -> tensor<1x4x1x12xf32, 4294967296 : i64> loc(#loc4)
      %4 = "tpu.Conv2D"(%2, %3, %0) {coeff_merged = false, dilations = [1, 1], do_relu = false, dynweight_reorderd = false, group = 1 : i64, kernel_shape = [12, 1], kernel_zp = 0 : i64, pads = [0, 0, 0, 0], quant_mode = #tpu<rq_mode MultiplierShift>, relu_limit = -1.000000e+00 : f64, round_mode = #tpu<round_mode HalfUp>, strides = [12, 1], support_compress = true, use_3ic_optimize = 0 : i64, weight_is_coeff = 1 : i64, with_bias = false} : (tensor<2x1x32xf32, 4294975488 : i64>, tensor<1x4x1x12xf32, 4294967296 : i64>, none) -> tensor<2x4x2xf32, 4294979584 : i64> loc(#loc5)
      return %4 : tensor<2x4x2xf32, 4294979584 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("y_Pad")
#loc3 = loc("u_Unsqueeze")
#loc4 = loc("w")
#loc5 = loc("z_Conv")

