#loc = loc(unknown)
#loc1 = loc("x")
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 + 3, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module @harm attributes {module.FLOPs = 4080 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1684x", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["y_Softmax"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "harm_tpu_addressed_bm1684x_f32_weight.npz"} {
  module @harm attributes {module.coeff_addr = 4294967296 : i64, module.coeff_size = 0 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 4294967296 : i64, module.neuron_size = 20480 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<1x12x20x1xf32> loc(unknown)) -> tensor<1x12x20x3xf32, 4294971392 : i64> {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<1x12x20x1xf32>) -> tensor<1x12x20x1xf32, 4294967296 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<1x12x20x1xf32, 4294967296 : i64>) -> tensor<1x12x20x3xf32, 4294971392 : i64> loc(#loc)
      return %1 : tensor<1x12x20x3xf32, 4294971392 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<1x12x20x1xf32, 4294967296 : i64> loc("x")) -> tensor<1x12x20x3xf32, 4294971392 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1:3 = "tpu.Group"(%arg0) ({
        %4 = "tpu.Load"(%arg0) {do_bcast = false, ginfo = #tpu.lg<out_addr = 0, out_size = 128, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [1], c_idx = [0], c_slice = [12], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [20], w_idx = [0], w_slice = [1], id = 0, stage = 0, slice_idx = 0, group_type = 0>, is_idx_weight = false, lmem_type = 1 : i64, support_compress = true, use_3ic_optimize = 0 : i64} : (tensor<1x12x20x1xf32, 4294967296 : i64>) -> tensor<1x12x20x1xf32> loc(#loc5)
        %5 = "tpu.MulConst"(%4) {const_val = 2.500000e+00 : f64, do_relu = false, ginfo = #tpu.lg<out_addr = 32768, out_size = 128, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [1], c_idx = [0], c_slice = [12], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [20], w_idx = [0], w_slice = [1], id = 1, stage = 1, slice_idx = 0, group_type = 0>, is_scalar = false, multiplier = 1 : si32, relu_limit = -1.000000e+00 : f64, rshift = 0 : si32} : (tensor<1x12x20x1xf32>) -> tensor<1x12x20x1xf32> loc(#loc6)
        %6 = "tpu.AddConst"(%5) {const_val = -0.80000001192092896 : f64, do_relu = false, f8_scale = 1.000000e+00 : f64, ginfo = #tpu.lg<out_addr = 16384, out_size = 128, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [1], c_idx = [0], c_slice = [12], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [20], w_idx = [0], w_slice = [1], id = 2, stage = 1, slice_idx = 0, group_type = 0>, is_scalar = false, multiplier = 1 : si32, relu_limit = -1.000000e+00 : f64, rshift = 0 : si32} : (tensor<1x12x20x1xf32>) -> tensor<1x12x20x1xf32> loc(#loc2)
        %7 = "tpu.Store"(%6, %0) {ginfo = #tpu.lg<out_addr = 16384, out_size = 128, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [1], c_idx = [0], c_slice = [12], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [20], w_idx = [0], w_slice = [1], id = 3, stage = 1, slice_idx = 0, group_type = 0>, support_compress = true} : (tensor<1x12x20x1xf32>, none) -> tensor<1x12x20x1xf32, 4294971392 : i64> loc(#loc2)
        %8 = "tpu.Slice"(%6, %0, %0, %0, %0) {axes = [], ends = [1, 12, -3, 1], ginfo = #tpu.lg<out_addr = 128, out_size = 128, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [1], c_idx = [0], c_slice = [12], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [17], w_idx = [0], w_slice = [1], id = 4, stage = 1, slice_idx = 0, group_type = 0>, hasparamConvert_axes = [2], offset = [0, 0, 0, 0], steps = [1, 1, 1, 1]} : (tensor<1x12x20x1xf32>, none, none, none, none) -> tensor<1x12x17x1xf32> loc(#loc7)
        %9 = "tpu.Store"(%8, %0) {ginfo = #tpu.lg<out_addr = 128, out_size = 128, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [1], c_idx = [0], c_slice = [12], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [17], w_idx = [0], w_slice = [1], id = 5, stage = 1, slice_idx = 0, group_type = 0>, indexing_map_l2s = #map, pad_const_val = 0.000000e+00 : f64, paddings = [0, 0, 3, 0, 0, 0, 0, 0], support_compress = true} : (tensor<1x12x17x1xf32>, none) -> tensor<1x12x20x1xf32, 4294975488 : i64> loc(#loc3)
        %10 = "tpu.Slice"(%6, %0, %0, %0, %0) {axes = [], ends = [1, 12, 1073741824, 1], ginfo = #tpu.lg<out_addr = 49152, out_size = 64, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [1], c_idx = [0], c_slice = [12], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [16], w_idx = [0], w_slice = [1], id = 6, stage = 1, slice_idx = 0, group_type = 0>, hasparamConvert_axes = [2], offset = [0, 0, 4, 0], steps = [1, 1, 1, 1]} : (tensor<1x12x20x1xf32>, none, none, none, none) -> tensor<1x12x16x1xf32> loc(#loc8)
        %11 = "tpu.Store"(%10, %0) {ginfo = #tpu.lg<out_addr = 49152, out_size = 64, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [1], c_idx = [0], c_slice = [12], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [16], w_idx = [0], w_slice = [1], id = 7, stage = 2, slice_idx = 0, group_type = 0>, indexing_map_l2s = #map1, pad_const_val = 0.000000e+00 : f64, paddings = [0, 0, 0, 0, 0, 0, 4, 0], support_compress = true} : (tensor<1x12x16x1xf32>, none) -> tensor<1x12x20x1xf32, 4294979584 : i64> loc(#loc4)
        "tpu.Yield"(%7, %9, %11) : (tensor<1x12x20x1xf32, 4294971392 : i64>, tensor<1x12x20x1xf32, 4294975488 : i64>, tensor<1x12x20x1xf32, 4294979584 : i64>) -> () loc(#loc11)
      }) {core_slice_ncdhw = [], csecs = 1 : i64, dsecs = 1 : i64, flow = [-1, 1, 7, -2, 2, 0, -3, 4, 3, -4, 6, 5], group_type = 0 : i64, hsecs = 1 : i64, nsecs = 1 : i64, other_down_overlap_op = [], other_up_overlap_op = [], run_core_id = [], self_down_overlap_op = [], self_up_overlap_op = [], support_compress = true, swpipl_stage_num = 3 : i64, wsecs = 1 : i64} : (tensor<1x12x20x1xf32, 4294967296 : i64>) -> (tensor<1x12x20x1xf32, 4294971392 : i64>, tensor<1x12x20x1xf32, 4294975488 : i64>, tensor<1x12x20x1xf32, 4294979584 : i64>) loc(#loc11)
      %2 = "tpu.Concat"(%1#0, %1#2, %1#1) {axis = 3 : si32, do_relu = false, only_merge = false, relu_limit = -1.000000e+00 : f64} : (tensor<1x12x20x1xf32, 4294971392 : i64>, tensor<1x12x20x1xf32, 4294979584 : i64>, tensor<1x12x20x1xf32, 4294975488 : i64>) -> tensor<1x12x20x3xf32, 4294983680 : i64> loc(#loc9)
      %3 = "tpu.Softmax"(%2, %0, %0, %0, %0, %0) {axis = 1 : si32, beta = 1.000000e+00 : f64, log = false, round_mode = #tpu<round_mode HalfAwayFromZero>} : (tensor<1x12x20x3xf32, 4294983680 : i64>, none, none, none, none, none) -> tensor<1x12x20x3xf32, 4294971392 : i64> loc(#loc10)
      return %3 : tensor<1x12x20x3xf32, 4294971392 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("a_Add")
#loc3 = loc("pb_Pad")
#loc4 = loc("pa_Pad")
#loc5 = loc("load_0")
#loc6 = loc("m_Mul")
#loc7 = loc("sb_Slice")
#loc8 = loc("sa_Slice")
#loc9 = loc("c_Concat")
#loc10 = loc("y_Softmax")
#loc11 = loc(fused[#loc2, #loc3, #loc4])

