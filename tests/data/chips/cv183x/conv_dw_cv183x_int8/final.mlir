#loc = loc(unknown)
#loc1 = loc("x")
#loc2 = loc("xclip6_Clip_si8")
module @conv_dw attributes {module.FLOPs = 115200 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "cv183x", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "INT8", module.outputs = ["clip6_Clip_f32"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "conv_dw_tpu_addressed_cv183x_int8_sym_weight.npz"} {
  module @conv_dw attributes {module.coeff_addr = 1099511627776 : i64, module.coeff_size = 736 : i64, module.device_id = 0 : i64, module.neuron_size = 5760 : i64, module.private_size = 5760 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<1x40x12x12xf32> loc(unknown)) -> tensor<1x40x12x12xf32, 4398046511104 : i64> {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<1x40x12x12xf32>) -> tensor<1x40x12x12x!quant.calibrated<f32<-3.9862831000000001:3.9862831000000001>>, 3298534883328 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<1x40x12x12x!quant.calibrated<f32<-3.9862831000000001:3.9862831000000001>>, 3298534883328 : i64>) -> tensor<1x40x12x12x!quant.uniform<i8:f32, 0.031388055905511809>, 2199023255552 : i64> loc(#loc)
      %2 = call @subfunc_1(%1) : (tensor<1x40x12x12x!quant.uniform<i8:f32, 0.031388055905511809>, 2199023255552 : i64>) -> tensor<1x40x12x12xf32, 4398046511104 : i64> loc(#loc)
      return %2 : tensor<1x40x12x12xf32, 4398046511104 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<1x40x12x12x!quant.calibrated<f32<-3.9862831000000001:3.9862831000000001>>, 3298534883328 : i64> loc("x")) -> tensor<1x40x12x12x!quant.uniform<i8:f32, 0.031388055905511809>, 2199023255552 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode CPU>, next_index = array<i32: 1>} {
      %0 = "tpu.GenericCpu"(%arg0) {cpu_op_name = "quant", param = {from = "FP32", scale = 31.8592529 : f32, to = "INT8"}} : (tensor<1x40x12x12x!quant.calibrated<f32<-3.9862831000000001:3.9862831000000001>>, 3298534883328 : i64>) -> tensor<1x40x12x12x!quant.uniform<i8:f32, 0.031388055905511809>, 2199023255552 : i64> loc(#loc2)
      return %0 : tensor<1x40x12x12x!quant.uniform<i8:f32, 0.031388055905511809>, 2199023255552 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_1(%arg0: tensor<1x40x12x12x!quant.uniform<i8:f32, 0.031388055905511809>, 2199023255552 : i64> loc("xclip6_Clip_si8")) -> tensor<1x40x12x12xf32, 4398046511104 : i64> attributes {id = 1 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "top.Weight"() {do_compress = true, path = "tpu.Conv2D.weight"} : () -> tensor<1x40x3x3xsi8, 1099511628144 : i64> loc(#loc3)
      %1 = "top.Weight"() {do_compress = true, path = "tpu.Conv2D.bias"} : () -> tensor<1x40x1x9xi8, 1099511627776 : i64> loc(#loc4)
      %2 = "tpu.Conv2D"(%arg0, %0, %1) {coeff_merged = false, dilations = [1, 1], do_relu = true, do_winograd = false, dynweight_reorderd = false, group = 40 : i64, kernel_shape = [3, 3], kernel_zp = 0 : i64, pads = [1, 1, 1, 1], quant_mode = #tpu<rq_mode QDM>, relu_limit = -1.000000e+00 : f64, round_mode = #tpu<round_mode HalfUp>, strides = [1, 1], support_compress = true, use_3ic_optimize = 0 : i64, weight_is_coeff = 1 : i64, with_bias = true} : (tensor<1x40x12x12x!quant.uniform<i8:f32, 0.031388055905511809>, 2199023255552 : i64>, tensor<1x40x3x3xsi8, 1099511628144 : i64>, tensor<1x40x1x9xi8, 1099511627776 : i64>) -> tensor<1x40x12x12x!quant.uniform<i8:f32, 0.02737922913385827>, 0 : i64> loc(#loc5)
      %3 = "tpu.Cast"(%2) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<1x40x12x12x!quant.uniform<i8:f32, 0.02737922913385827>, 0 : i64>) -> tensor<1x40x12x12xf32, 4398046511104 : i64> loc(#loc6)
      return %3 : tensor<1x40x12x12xf32, 4398046511104 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc3 = loc("clip6_Clip_filter_reordered")
#loc4 = loc("clip6_Clip_bias_packed")
#loc5 = loc("clip6_Clip")
#loc6 = loc("clip6_Clip_f32")

