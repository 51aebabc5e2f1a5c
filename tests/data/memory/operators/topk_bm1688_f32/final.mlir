#loc = loc(unknown)
#loc1 = loc("x")
module @dtopk attributes {module.FLOPs = 0 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1688", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["v_TopK", "w_TopK"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dtopk_tpu_addressed_bm1688_f32_weight.npz"} {
  module @dtopk attributes {module.coeff_addr = 618475290624 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 687194767360 : i64, module.neuron_size = 20480 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<4x20xf32> loc(unknown)) -> (tensor<4x5xf32, 687194783744 : i64>, tensor<4x5xi32, 687194779648 : i64>) {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<4x20xf32>) -> tensor<4x20xf32, 687194767360 : i64> loc(#loc1)
      %1:2 = call @subfunc_0(%0) : (tensor<4x20xf32, 687194767360 : i64>) -> (tensor<4x5xf32, 687194783744 : i64>, tensor<4x5xi32, 687194779648 : i64>) loc(#loc)
      return %1#0, %1#1 : tensor<4x5xf32, 687194783744 : i64>, tensor<4x5xi32, 687194779648 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<4x20xf32, 687194767360 : i64> loc("x")) -> (tensor<4x5xf32, 687194783744 : i64>, tensor<4x5xi32, 687194779648 : i64>) attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Buffer"() {buffer_type = #tpu<buffer_type GMEM>} : () -> tensor<80xf32, 687194771456 : i64> loc(#loc2)
      %2 = "tpu.Buffer"() {buffer_type = #tpu<buffer_type GMEM>} : () -> tensor<80xi32, 687194775552 : i64> loc(#loc3)
      %values, %indices = "tpu.TopK"(%arg0, %1, %2, %0, %0) {K = 5 : i64, axis = 1 : i64, largest = true, replace_topk_indices = false, sorted = true, use_hau = true, values_used_only = false} : (tensor<4x20xf32, 687194767360 : i64>, tensor<80xf32, 687194771456 : i64>, tensor<80xi32, 687194775552 : i64>, none, none) -> (tensor<4x5xf32, 687194783744 : i64>, tensor<4x5xi32, 687194779648 : i64>) loc(#loc6)
      return %values, %indices : tensor<4x5xf32, 687194783744 : i64>, tensor<4x5xi32, 687194779648 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("v_TopK_buffer_val")
#loc3 = loc("v_TopK_buffer_idx")
#loc4 = loc("v_TopK")
#loc5 = loc("w_TopK")
#loc6 = loc(fused[#loc4, #loc5])

