#loc = loc(unknown)
#loc1 = loc("x")
module @parts attributes {module.FLOPs = 16777216 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "cv181x", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "BF16", module.outputs = ["y_MatMul_f32"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "parts_tpu_addressed_cv181x_bf16_weight.npz"} {
  module @parts attributes {module.coeff_addr = 1099511627776 : i64, module.coeff_size = 1048576 : i64, module.device_id = 0 : i64, module.neuron_size = 49152 : i64, module.private_size = 0 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<16x512xf32> loc(unknown)) -> tensor<16x1024xf32, 4398046511104 : i64> {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<16x512xf32>) -> tensor<16x512xf32, 3298534883328 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<16x512xf32, 3298534883328 : i64>) -> tensor<16x1024xf32, 4398046511104 : i64> loc(#loc)
      return %1 : tensor<16x1024xf32, 4398046511104 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<16x512xf32, 3298534883328 : i64> loc("x")) -> tensor<16x1024xf32, 4398046511104 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Cast"(%arg0) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<16x512xf32, 3298534883328 : i64>) -> tensor<16x512xbf16, 0 : i64> loc(#loc2)
      %2 = "top.Weight"() {do_compress = true, path = "tpu.MatMul.weight"} : () -> tensor<512x1024xbf16, 1099511627776 : i64> loc(#loc3)
      %3 = "tpu.MatMul"(%1, %2, %0, %0, %0) {do_relu = false, dq_type = "NONE", fuse_rq = false, hdim_is_batch = false, input_zp = 0 : i64, is_lora = false, keep_dims = true, left_reuse = 1 : i64, left_transpose = false, multipliers = [1], output_transpose = false, q_group_size = 0 : i64, quant_mode = #tpu<rq_mode MultiplierShift>, relu_limit = -1.000000e+00 : f64, right_transpose = false, right_zp = 0 : i64, round_mode = #tpu<round_mode HalfAwayFromZero>, rshifts = [0]} : (tensor<16x512xbf16, 0 : i64>, tensor<512x1024xbf16, 1099511627776 : i64>, none, none, none) -> tensor<16x1024xbf16, 16384 : i64> loc(#loc4)
      %4 = "tpu.Cast"(%3) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<16x1024xbf16, 16384 : i64>) -> tensor<16x1024xf32, 4398046511104 : i64> loc(#loc5)
      return %4 : tensor<16x1024xf32, 4398046511104 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("xy_MatMul_bf16")
#loc3 = loc("w_bf16")
#loc4 = loc("y_MatMul")
#loc5 = loc("y_MatMul_f32")

