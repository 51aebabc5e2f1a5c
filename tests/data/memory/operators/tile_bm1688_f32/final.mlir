#loc = loc(unknown)
#loc1 = loc("x")
module @dtile attributes {module.FLOPs = 48 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1688", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["z_Sigmoid"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dtile_tpu_addressed_bm1688_f32_weight.npz"} {
  module @dtile attributes {module.coeff_addr = 618475290624 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 687194767360 : i64, module.neuron_size = 12288 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<3x2xf32> loc(unknown)) -> tensor<3x4xf32, 687194775552 : i64> {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<3x2xf32>) -> tensor<3x2xf32, 687194767360 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<3x2xf32, 687194767360 : i64>) -> tensor<3x4xf32, 687194775552 : i64> loc(#loc)
      return %1 : tensor<3x4xf32, 687194775552 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<3x2xf32, 687194767360 : i64> loc("x")) -> tensor<3x4xf32, 687194775552 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Tile"(%arg0, %0) {tile = [1, 2]} : (tensor<3x2xf32, 687194767360 : i64>, none) -> tensor<3x4xf32, 687194771456 : i64> loc(#loc2)
      %2 = "tpu.Active"(%1) {bias = 0.000000e+00 : f64, log = false, mode = #tpu<active_mode SIGMOID>, scale = 1.000000e+00 : f64} : (tensor<3x4xf32, 687194771456 : i64>) -> tensor<3x4xf32, 687194775552 : i64> loc(#loc3)
      return %2 : tensor<3x4xf32, 687194775552 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("y_Tile")
#loc3 = loc("z_Sigmoid")

