#loc = loc(unknown)
#loc1 = loc("x")
#loc2 = loc("u")
module @scatter_nd attributes {module.FLOPs = 0 : i64, module.addr_mode = "io_tag", module.asymmetric = false, module.chip = "bm1684x2", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x", "u"], module.mode = "BF16", module.outputs = ["scatternd2_ScatterND_f32"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "scatter_nd_tpu_addressed_bm1684x2_bf16_weight.npz"} {
  module @scatter_nd attributes {module.coeff_addr = 1168231104512 : i64, module.coeff_size = 4096 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 4096 : i64, module.neuron_addr = 2267742732288 : i64, module.neuron_size = 16384 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<12x8xf32> loc(unknown), %arg1: tensor<3x8xf32> loc(unknown)) -> tensor<12x8xf32, 5497558138880 : i64> {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<12x8xf32>) -> tensor<12x8xf32, 4398046511104 : i64> loc(#loc1)
      %1 = "top.Input"(%arg1) {do_preprocess = true} : (tensor<3x8xf32>) -> tensor<3x8xf32, 6597069766656 : i64> loc(#loc2)
      %2 = call @subfunc_0(%0, %1) : (tensor<12x8xf32, 4398046511104 : i64>, tensor<3x8xf32, 6597069766656 : i64>) -> tensor<12x8xf32, 5497558138880 : i64> loc(#loc)
      return %2 : tensor<12x8xf32, 5497558138880 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<12x8xf32, 4398046511104 : i64> loc("x"), %arg1: tensor<3x8xf32, 6597069766656 : i64> loc("u")) -> tensor<12x8xf32, 5497558138880 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "tpu.Cast"(%arg1) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<3x8xf32, 6597069766656 : i64>) -> tensor<3x8xbf16, 2267742732288 : i64> loc(#loc3)
      %1 = "tpu.Cast"(%arg0) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<12x8xf32, 4398046511104 : i64>) -> tensor<12x8xbf16, 2267742736384 : i64> loc(#loc4)
      %2 = "top.Weight"() {path = "tpu.ScatterND.1"} : () -> tensor<3x1xi32, 1168231104512 : i64> loc(#loc5)
      %3 = "tpu.Buffer"() {buffer_type = #tpu<buffer_type GMEM>} : () -> tensor<3xi32, 2267742740480 : i64> loc(#loc6)
      %4 = "tpu.ScatterND"(%1, %2, %0, %3) {reduction = 0 : i32} : (tensor<12x8xbf16, 2267742736384 : i64>, tensor<3x1xi32, 1168231104512 : i64>, tensor<3x8xbf16, 2267742732288 : i64>, tensor<3xi32, 2267742740480 : i64>) -> tensor<12x8xbf16, 2267742744576 : i64> loc(#loc7)
      %5 = "tpu.Cast"(%4) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<12x8xbf16, 2267742744576 : i64>) -> tensor<12x8xf32, 5497558138880 : i64> loc(#loc8)
      return %5 : tensor<12x8xf32, 5497558138880 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc3 = loc("uscatternd2_ScatterND_bf16")
#loc4 = loc("xscatternd2_ScatterND_bf16")
#loc5 = loc("w1_int")
#loc6 = loc("scatternd2_ScatterND_buffer")
#loc7 = loc("scatternd2_ScatterND")
#loc8 = loc("scatternd2_ScatterND_f32")

