#loc = loc(unknown)
module @gemm2d attributes {module.FLOPs = 92520 : i64, module.chip = "ALL", module.platform = "ONNX", module.state = "TOP_F32", module.top_run_mode = "STATIC", module.weight_file = "gemm2d_top_f32_all_weight.npz"} {
  func.func @main(%arg0: tensor<5x128xf32> loc(unknown)) -> tensor<5x72xf32> {
    %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<5x128xf32>) -> tensor<5x128xf32> loc(#loc1)
    %1 = "top.Weight"() : () -> tensor<128x72xf32> loc(#loc2)
    %2 = "top.Weight"() : () -> tensor<72xf32> loc(#loc3)
    %3 = "top.MatMul"(%0, %1, %2) {do_relu = false, dq_type = "NONE", hdim_is_batch = false, is_lora = false, keep_dims = true, left_transpose = false, output_transpose = false, q_group_size = 0 : i64, relu_limit = -1.000000e+00 : f64, right_transpose = false} : (tensor<5x128xf32>, tensor<128x72xf32>, tensor<72xf32>) -> tensor<5x72xf32> loc(#loc4)
    return %3 : tensor<5x72xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("x")
#loc2 = loc("w1_fix")
#loc3 = loc("w2")
#loc4 = loc("gemm3_Gemm")

