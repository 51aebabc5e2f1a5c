#loc = loc(unknown)
#loc1 = loc("x")
module @dmatmul attributes {module.FLOPs = 510 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1684x", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["y_Reshape"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "dmatmul_tpu_addressed_bm1684x_f32_weight.npz"} {
  module @dmatmul attributes {module.coeff_addr = 4294967296 : i64, module.coeff_size = 4096 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 4294971392 : i64, module.neuron_size = 8192 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<5x8xf32> loc(unknown)) -> tensor<5x2x3xf32, 4294975488 : i64> {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<5x8xf32>) -> tensor<5x8xf32, 4294971392 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<5x8xf32, 4294971392 : i64>) -> tensor<5x2x3xf32, 4294975488 : i64> loc(#loc)
      return %1 : tensor<5x2x3xf32, 4294975488 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<5x8xf32, 4294971392 : i64> loc("x")) -> tensor<5x2x3xf32, 4294975488 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "top.Weight"() {path = "tpu.MatMul.weight"} : () -> tensor<8x6xf32, 4294967296 : i64> loc(#loc2)
      %2 = "tpu.MatMul"(%arg0, %1, %0, %0, %0) {do_relu = true, dq_type = "NONE", fuse_rq = false, hdim_is_batch = false, input_zp = 0 : i64, is_lora = false, keep_dims = true, left_reuse = 0 : i64, left_transpose = false, multipliers = [1], output_transpose = false, q_group_size = 0 : i64, quant_mode = #tpu<rq_mode MultiplierShift>, relu_limit = -1.000000e+00 : f64, right_transpose = false, right_zp = 0 : i64, round_mode = #tpu<round_mode HalfAwayFromZero>, rshifts = [0]} : (tensor<5x8xf32, 4294971392 : i64>, tensor<8x6xf32, 4294967296 : i64>, none, none, none) -> tensor<5x6xf32, 4294975488 : i64> loc(#loc3)
      %3 = "tpu.Reshape"(%2) {flatten_start_dim = -1 : i64, shape = [5, 2, 3]} : (tensor<5x6xf32, 4294975488 : i64>) -> tensor<5x2x3xf32, 4294975488 : i64> loc(#loc4)
      return %3 : tensor<5x2x3xf32, 4294975488 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("w")
#loc3 = loc("r_Relu")
#loc4 = loc("y_Reshape")

