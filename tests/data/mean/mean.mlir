#loc = loc(unknown)
module @mean attributes {module.FLOPs = 24 : i64, module.chip = "ALL", module.platform = "ONNX", module.state = "TOP_F32", module.top_run_mode = "STATIC", module.weight_file = "mean_top_f32_all_weight.npz"} {
  func.func @main(%arg0: tensor<1x8x16x16xf32> loc(unknown)) -> tensor<1x8x1x1xf32> {
    %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32> loc(#loc1)
    %1 = "top.Reduce"(%0) {axes = [2, 3], is_scalar = false, keepdims = true, mode = "ReduceSum"} : (tensor<1x8x16x16xf32>) -> tensor<1x8x1x1xf32> loc(#loc2)
    %2 = "top.Weight"() : () -> tensor<1x8x1x1xf32> loc(#loc3)
    %3 = "top.Sub"(%1, %2) {do_relu = false, is_reverse = false, is_scalar = false, relu_limit = -1.000000e+00 : f64} : (tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x1x1xf32> loc(#loc4)
    %4 = "top.Weight"() : () -> tensor<1x8x1x1xf32> loc(#loc5)
    %5 = "top.Mul"(%3, %4) {do_relu = false, is_scalar = false, relu_limit = -1.000000e+00 : f64} : (tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x1x1xf32> loc(#loc6)
    return %5 : tensor<1x8x1x1xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("x")
#loc2 = loc("sum_ReduceSum")
#loc3 = loc("c")
#loc4 = loc("difference_Sub")
#loc5 = loc("s")
#loc6 = loc("scaled_Mul")

