#loc = loc(unknown)
#loc1 = loc("x")
#loc2 = loc("e_Exp")
#loc5 = loc("s_ScatterND")
module @h3 attributes {module.FLOPs = 1664 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1684", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["e_Exp", "sm_Softmax"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "h3_tpu_addressed_bm1684_f32_weight.npz"} {
  module @h3 attributes {module.coeff_addr = 4379901952 : i64, module.coeff_size = 8192 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 4379910144 : i64, module.neuron_size = 12288 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<8x8xf32> loc(unknown)) -> (tensor<8x8xf32, 4379914240 : i64>, tensor<8x8xf32, 4379914240 : i64>) {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<8x8xf32>) -> tensor<8x8xf32, 4379910144 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<8x8xf32, 4379910144 : i64>) -> tensor<8x8xf32, 4379914240 : i64> loc(#loc)
      %2 = call @subfunc_1(%1) : (tensor<8x8xf32, 4379914240 : i64>) -> tensor<8x8xf32, 4379918336 : i64> loc(#loc)
      %3 = call @subfunc_2(%2, %0) : (tensor<8x8xf32, 4379918336 : i64>, tensor<8x8xf32, 4379910144 : i64>) -> tensor<8x8xf32, 4379914240 : i64> loc(#loc)
      return %1, %3 : tensor<8x8xf32, 4379914240 : i64>, tensor<8x8xf32, 4379914240 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<8x8xf32, 4379910144 : i64> loc("x")) -> tensor<8x8xf32, 4379914240 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: 1>} {
      %0 = "tpu.Active"(%arg0) {mode = #tpu<active_mode EXP>} : (tensor<8x8xf32, 4379910144 : i64>) -> tensor<8x8xf32, 4379914240 : i64> loc(#loc2)
      return %0 : tensor<8x8xf32, 4379914240 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_1(%arg0: tensor<8x8xf32, 4379914240 : i64> loc("e_Exp")) -> tensor<8x8xf32, 4379918336 : i64> attributes {id = 1 : i64, mode = #tpu<run_mode CPU>, next_index = array<i32: 2>} {
      %0 = "top.Weight"() {path = "tpu.GenericCpu.2"} : () -> tensor<2xf32, 4379901952 : i64> loc(#loc3)
      %1 = "top.Weight"() {path = "tpu.GenericCpu.1"} : () -> tensor<2x2xi32, 4379906048 : i64> loc(#loc4)
      %2 = "tpu.GenericCpu"(%arg0, %1, %0) {cpu_op_name = "tensor_scatter", param = {reduction = 0 : i32}} : (tensor<8x8xf32, 4379914240 : i64>, tensor<2x2xi32, 4379906048 : i64>, tensor<2xf32, 4379901952 : i64>) -> tensor<8x8xf32, 4379918336 : i64> loc(#loc5)
      return %2 : tensor<8x8xf32, 4379918336 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_2(%arg0: tensor<8x8xf32, 4379918336 : i64> loc("s_ScatterND"), %arg1: tensor<8x8xf32, 4379910144 : i64> loc("x")) -> tensor<8x8xf32, 4379914240 : i64> attributes {id = 2 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Add"(%arg0, %arg1) {do_relu = false, is_scalar = false, relu_limit = -1.000000e+00 : f64} : (tensor<8x8xf32, 4379918336 : i64>, tensor<8x8xf32, 4379910144 : i64>) -> tensor<8x8xf32, 4379914240 : i64> loc(#loc6)
      %2 = "tpu.MatMul"(%1, %arg1, %0, %0, %0) {do_relu = false, dq_type = "NONE", fuse_rq = false, hdim_is_batch = false, input_zp = 0 : i64, is_lora = false, keep_dims = true, left_reuse = 0 : i64, left_transpose = false, multipliers = [1], output_transpose = false, q_group_size = 0 : i64, quant_mode = #tpu<rq_mode MultiplierShift>, relu_limit = -1.000000e+00 : f64, right_transpose = false, right_zp = 0 : i64, round_mode = #tpu<round_mode HalfAwayFromZero>, rshifts = [0]} : (tensor<8x8xf32, 4379914240 : i64>, tensor<8x8xf32, 4379910144 : i64>, none, none, none) -> tensor<8x8xf32, 4379918336 : i64> loc(#loc7)
      %3 = "tpu.Softmax"(%2, %0, %0, %0, %0, %0) {axis = 1 : si32, beta = 1.000000e+00 : f64, log = false, round_mode = #tpu<round_mode HalfAwayFromZero>} : (tensor<8x8xf32, 4379918336 : i64>, none, none, none, none, none) -> tensor<8x8xf32, 4379914240 : i64> loc(#loc8)
      return %3 : tensor<8x8xf32, 4379914240 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc3 = loc("u")
#loc4 = loc("s_ScatterND_indices_int32")
#loc6 = loc("m_Add")
#loc7 = loc("mm_MatMul")
#loc8 = loc("sm_Softmax")

