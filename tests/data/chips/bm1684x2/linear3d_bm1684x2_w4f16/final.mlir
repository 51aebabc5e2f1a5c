#loc = loc(unknown)
#loc1 = loc("x")
module @linear3d attributes {module.FLOPs = 592128 : i64, module.addr_mode = "io_tag", module.asymmetric = false, module.chip = "bm1684x2", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "W4F16", module.outputs = ["add4_Add_f32"], module.platform = "ONNX", module.q_group_size = 64 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "linear3d_tpu_addressed_bm1684x2_w4f16_weight.npz"} {
  module @linear3d attributes {module.coeff_addr = 1168231104512 : i64, module.coeff_size = 16384 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 16384 : i64, module.neuron_addr = 2267742732288 : i64, module.neuron_size = 16384 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<1x24x128xf32> loc(unknown)) -> tensor<1x24x96xf32, 5497558138880 : i64> {
      %0 = "top.Input"(%arg0) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [24, 128], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<1x24x128xf32>) -> tensor<1x24x128xf32, 4398046511104 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<1x24x128xf32, 4398046511104 : i64>) -> tensor<1x24x96xf32, 5497558138880 : i64> loc(#loc)
      return %1 : tensor<1x24x96xf32, 5497558138880 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<1x24x128xf32, 4398046511104 : i64> loc("x")) -> tensor<1x24x96xf32, 5497558138880 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "tpu.Cast"(%arg0) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<1x24x128xf32, 4398046511104 : i64>) -> tensor<1x24x128xf16, 2267742732288 : i64> loc(#loc2)
      %2 = "top.Weight"() {path = "tpu.A16MatMul.bias"} : () -> tensor<1x1x96xf16, 1168231104512 : i64> loc(#loc3)
      %3 = "top.Weight"() {path = "tpu.A16MatMul.weight"} : () -> tensor<96x64xui8, 1168231108608 : i64> loc(#loc4)
      %4 = "top.Weight"() {path = "tpu.A16MatMul.scale"} : () -> tensor<16x6x4xf16, 1168231116800 : i64> loc(#loc5)
      %5 = "tpu.A16MatMul"(%1, %3, %4, %0, %2) {dq_type = "NONE", q_group_size = 64 : i64, sign = true, w_transpose = true, weight_bits = 4 : i64} : (tensor<1x24x128xf16, 2267742732288 : i64>, tensor<96x64xui8, 1168231108608 : i64>, tensor<16x6x4xf16, 1168231116800 : i64>, none, tensor<1x1x96xf16, 1168231104512 : i64>) -> tensor<1x24x96xf16, 2267742740480 : i64> loc(#loc6)
      %6 = "tpu.Cast"(%5) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<1x24x96xf16, 2267742740480 : i64>) -> tensor<1x24x96xf32, 5497558138880 : i64> loc(#loc7)
      return %6 : tensor<1x24x96xf32, 5497558138880 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("xadd4_Add_f16")
#loc3 = loc("w3_f16")
#loc4 = loc("add4_Add_uint")
#loc5 = loc("add4_Add_reordered_s_zp")
#loc6 = loc("add4_Add")
#loc7 = loc("add4_Add_f32")

