#loc = loc(unknown)
#loc1 = loc("x")
module @dgathernd attributes {module.FLOPs = 48 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1688", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["t_Tanh"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dgathernd_tpu_addressed_bm1688_f32_weight.npz"} {
  module @dgathernd attributes {module.coeff_addr = 618475290624 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 687194767360 : i64, module.neuron_size = 12288 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<4x9xf32> loc(unknown)) -> tensor<4x3xf32, 687194775552 : i64> {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<4x9xf32>) -> tensor<4x9xf32, 687194767360 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<4x9xf32, 687194767360 : i64>) -> tensor<4x3xf32, 687194775552 : i64> loc(#loc)
      return %1 : tensor<4x3xf32, 687194775552 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<4x9xf32, 687194767360 : i64> loc("x")) -> tensor<4x3xf32, 687194775552 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Slice"(%arg0, %0, %0, %0, %0) {axes = [], ends = [9223372036854775807, 7], hasparamConvert_axes = [], offset = [0, 1], steps = [1, 2]} : (tensor<4x9xf32, 687194767360 : i64>, none, none, none, none) -> tensor<4x3xf32, 687194771456 : i64> loc(#loc2)
      %2 = "tpu.Active"(%1) {mode = #tpu<active_mode TANH>} : (tensor<4x3xf32, 687194771456 : i64>) -> tensor<4x3xf32, 687194775552 : i64> loc(#loc3)
      return %2 : tensor<4x3xf32, 687194775552 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("g_Gather")
#loc3 = loc("t_Tanh")

