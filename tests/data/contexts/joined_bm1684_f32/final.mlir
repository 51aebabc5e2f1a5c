#loc = loc(unknown)
#loc1 = loc("left")
#loc2 = loc("right")
module @joined attributes {module.FLOPs = 0 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1684", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["left", "right"], module.mode = "F32", module.outputs = ["both_Concat"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "joined_tpu_addressed_bm1684_f32_weight.npz"} {
  module @joined attributes {module.coeff_addr = 4379901952 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 4379901952 : i64, module.neuron_size = 4096 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<2xf32> loc(unknown), %arg1: tensor<3xf32> loc(unknown)) -> tensor<5xf32, 4379901952 : i64> {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<2xf32>) -> tensor<2xf32, 4379901952 : i64> loc(#loc1)
      %1 = "top.Input"(%arg1) {do_preprocess = true} : (tensor<3xf32>) -> tensor<3xf32, 4379901960 : i64> loc(#loc2)
      %2 = call @subfunc_0(%0, %1) : (tensor<2xf32, 4379901952 : i64>, tensor<3xf32, 4379901960 : i64>) -> tensor<5xf32, 4379901952 : i64> loc(#loc)
      return %2 : tensor<5xf32, 4379901952 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<2xf32, 4379901952 : i64> loc("left"), %arg1: tensor<3xf32, 4379901960 : i64> loc("right")) -> tensor<5xf32, 4379901952 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "tpu.Concat"(%arg0, %arg1) {axis = 0 : si32, do_relu = false, only_merge = true, relu_limit = -1.000000e+00 : f64} : (tensor<2xf32, 4379901952 : i64>, tensor<3xf32, 4379901960 : i64>) -> tensor<5xf32, 4379901952 : i64> loc(#loc3)
      return %0 : tensor<5xf32, 4379901952 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc3 = loc("both_Concat")

