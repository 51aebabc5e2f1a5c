#loc = loc(unknown)
module @act_relu attributes {module.FLOPs = 1260 : i64, module.chip = "ALL", module.platform = "ONNX", module.state = "TOP_F32", module.top_run_mode = "STATIC", module.weight_file = "act_relu_top_f32_all_weight.npz"} {
  func.func @main(%arg0: tensor<1x10x6x7xf32> loc(unknown)) -> (tensor<1x10x6x7xf32>, tensor<1x10x6x7xf32>, tensor<1x10x6x7xf32>) {
    %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<1x10x6x7xf32>) -> tensor<1x10x6x7xf32> loc(#loc1)
    %1 = "top.Relu"(%0) {relu_limit = -1.000000e+00 : f64} : (tensor<1x10x6x7xf32>) -> tensor<1x10x6x7xf32> loc(#loc2)
    %2 = "top.LeakyRelu"(%0) {alpha = 0.10000000149011612 : f64, round_mode = "HalfAwayFromZero"} : (tensor<1x10x6x7xf32>) -> tensor<1x10x6x7xf32> loc(#loc3)
    %3 = "top.Weight"() : () -> tensor<1x10x1x1xf32> loc(#loc4)
    %4 = "top.PRelu"(%0, %3) : (tensor<1x10x6x7xf32>, tensor<1x10x1x1xf32>) -> tensor<1x10x6x7xf32> loc(#loc5)
    return %1, %2, %4 : tensor<1x10x6x7xf32>, tensor<1x10x6x7xf32>, tensor<1x10x6x7xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("x")
#loc2 = loc("relu1_Relu")
#loc3 = loc("leakyrelu2_LeakyRelu")
#loc4 = loc("w3")
#loc5 = loc("prelu4_PRelu")

