#loc = loc(unknown)
#loc1 = loc("x")
module @dargmax attributes {module.FLOPs = 72 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1688", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["a_ArgMax", "r_Relu"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dargmax_tpu_addressed_bm1688_f32_weight.npz"} {
  module @dargmax attributes {module.coeff_addr = 618475290624 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 687194767360 : i64, module.neuron_size = 12288 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<4x9xf32> loc(unknown)) -> (tensor<4xi32, 687194775552 : i64>, tensor<4x9xf32, 687194771456 : i64>) {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<4x9xf32>) -> tensor<4x9xf32, 687194767360 : i64> loc(#loc1)
      %1:2 = call @subfunc_0(%0) : (tensor<4x9xf32, 687194767360 : i64>) -> (tensor<4xi32, 687194775552 : i64>, tensor<4x9xf32, 687194771456 : i64>) loc(#loc)
      return %1#0, %1#1 : tensor<4xi32, 687194775552 : i64>, tensor<4x9xf32, 687194771456 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<4x9xf32, 687194767360 : i64> loc("x")) -> (tensor<4xi32, 687194775552 : i64>, tensor<4x9xf32, 687194771456 : i64>) attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "tpu.Relu"(%arg0) {relu_limit = -1.000000e+00 : f64} : (tensor<4x9xf32, 687194767360 : i64>) -> tensor<4x9xf32, 687194771456 : i64> loc(#loc2)
      %indices, %values = "tpu.Arg"(%arg0) {axis = 1 : i64, keepdims = false, mode = "ArgMax", select_last_index = false, use_int_input = false} : (tensor<4x9xf32, 687194767360 : i64>) -> (tensor<4xi32, 687194775552 : i64>, none) loc(#loc3)
      return %indices, %0 : tensor<4xi32, 687194775552 : i64>, tensor<4x9xf32, 687194771456 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("r_Relu")
#loc3 = loc("a_ArgMax")

