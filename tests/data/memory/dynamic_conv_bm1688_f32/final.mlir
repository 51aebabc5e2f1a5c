#loc = loc(unknown)
#loc1 = loc("x")
module @cv attributes {module.FLOPs = 65664 : i64, module.addr_mode = "basic", module.asymmetric = false, module.chip = "bm1688", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["x"], module.mode = "F32", module.outputs = ["e_Sigmoid"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "DYNAMIC", module.weight_file = "cv_tpu_addressed_bm1688_f32_weight.npz"} {
  module @cv attributes {module.coeff_addr = 618475290624 : i64, module.coeff_size = 4096 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 0 : i64, module.neuron_addr = 687194767360 : i64, module.neuron_size = 12288 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<2x3x12x12xf32> loc(unknown)) -> tensor<2x4x6x6xf32, 687194775552 : i64> {
      %0 = "top.Input"(%arg0) {channel_format = "nchw", do_preprocess = true, keep_aspect_ratio = false, keep_ratio_mode = "letterbox", mean = [0.000000e+00, 0.000000e+00, 0.000000e+00], pad_type = "center", pad_value = 0 : i64, pixel_format = "bgr", resize_dims = [12, 12], scale = [1.000000e+00, 1.000000e+00, 1.000000e+00], yuv_type = ""} : (tensor<2x3x12x12xf32>) -> tensor<2x3x12x12xf32, 687194767360 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<2x3x12x12xf32, 687194767360 : i64>) -> tensor<2x4x6x6xf32, 687194775552 : i64> loc(#loc)
      return %1 : tensor<2x4x6x6xf32, 687194775552 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<2x3x12x12xf32, 687194767360 : i64> loc("x")) -> tensor<2x4x6x6xf32, 687194775552 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_DYNAMIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "top.Weight"() {path = "tpu.Conv2D.weight"} : () -> tensor<1x4x3x9xf32, 618475290624 : i64> loc(#loc2)
      %2 = "tpu.Group"(%arg0) ({
        %4 = "tpu.Load"(%arg0) {do_bcast = false, ginfo = #tpu.lg<out_addr = 8192, out_size = 1152, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [2], c_idx = [0], c_slice = [3], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [12], w_idx = [0], w_slice = [12], id = 0, stage = 0, slice_idx = 0, group_type = 0>, is_idx_weight = false, lmem_type = 1 : i64, support_compress = true, use_3ic_optimize = 0 : i64} : (tensor<2x3x12x12xf32, 687194767360 : i64>) -> tensor<2x3x12x12xf32> loc(#loc4)
        %5 = "tpu.Load"(%1) {do_bcast = false, ginfo = #tpu.lg<out_addr = 24576, out_size = 108, buffer_addr = 0, buffer_size = 0, eu_align = false, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [1], c_idx = [0], c_slice = [4], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [3], w_idx = [0], w_slice = [9], id = 1, stage = 0, slice_idx = 0, group_type = 0>, is_idx_weight = false, lmem_type = 0 : i64, support_compress = true, use_3ic_optimize = 0 : i64} : (tensor<1x4x3x9xf32, 618475290624 : i64>) -> tensor<1x4x3x9xf32> loc(#loc5)
        %6 = "tpu.Conv2D"(%4, %5, %0) {coeff_merged = false, dilations = [1, 1], do_relu = true, dynweight_reorderd = false, ginfo = #tpu.lg<out_addr = 0, out_size = 1152, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [2], c_idx = [0], c_slice = [4], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [12], w_idx = [0], w_slice = [12], id = 2, stage = 1, slice_idx = 0, group_type = 0>, group = 1 : i64, kernel_shape = [3, 3], kernel_zp = 0 : i64, pads = [1, 1, 1, 1], quant_mode = #tpu<rq_mode MultiplierShift>, relu_limit = -1.000000e+00 : f64, round_mode = #tpu<round_mode HalfUp>, strides = [1, 1], support_compress = true, use_3ic_optimize = 0 : i64, weight_is_coeff = 1 : i64, with_bias = false} : (tensor<2x3x12x12xf32>, tensor<1x4x3x9xf32>, none) -> tensor<2x4x12x12xf32> loc(#loc6)
        %7 = "tpu.Pool2D"(%6) {ceil_mode = false, count_include_pad = false, do_relu = false, first_round_mode = #tpu<round_mode HalfAwayFromZero>, ginfo = #tpu.lg<out_addr = 16384, out_size = 288, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [2], c_idx = [0], c_slice = [4], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [6], w_idx = [0], w_slice = [6], id = 3, stage = 1, slice_idx = 0, group_type = 0>, is_adaptive = false, keepdims = true, kernel_shape = [2, 2], pad_value = 0 : i64, pads = [0, 0, 0, 0], pool_mode = #tpu<pool_mode Max>, relu_limit = -1.000000e+00 : f64, round_mode = #tpu<round_mode HalfAwayFromZero>, strides = [2, 2]} : (tensor<2x4x12x12xf32>) -> tensor<2x4x6x6xf32> loc(#loc3)
        %8 = "tpu.Store"(%7, %0) {ginfo = #tpu.lg<out_addr = 16384, out_size = 288, buffer_addr = 0, buffer_size = 0, eu_align = true, can_merge = false, in_hslice_offset = [], n_idx = [0], n_slice = [2], c_idx = [0], c_slice = [4], d_idx = [0], d_slice = [1], h_idx = [0], h_slice = [6], w_idx = [0], w_slice = [6], id = 4, stage = 2, slice_idx = 0, group_type = 0>, support_compress = true} : (tensor<2x4x6x6xf32>, none) -> tensor<2x4x6x6xf32, 687194771456 : i64> loc(#loc3)
        "tpu.Yield"(%8) : (tensor<2x4x6x6xf32, 687194771456 : i64>) -> () loc(#loc3)
      }) {core_slice_ncdhw = [], csecs = 1 : i64, dsecs = 1 : i64, flow = [-1, 2, 4, -2, 3, 0, 1], group_type = 0 : i64, hsecs = 1 : i64, nsecs = 1 : i64, other_down_overlap_op = [], other_up_overlap_op = [], run_core_id = [], self_down_overlap_op = [], self_up_overlap_op = [], support_compress = true, swpipl_stage_num = 3 : i64, wsecs = 1 : i64} : (tensor<2x3x12x12xf32, 687194767360 : i64>) -> tensor<2x4x6x6xf32, 687194771456 : i64> loc(#loc3)
      %3 = "tpu.Active"(%2) {bias = 0.000000e+00 : f64, log = false, mode = #tpu<active_mode SIGMOID>, scale = 1.000000e+00 : f64} : (tensor<2x4x6x6xf32, 687194771456 : i64>) -> tensor<2x4x6x6xf32, 687194775552 : i64> loc(#loc7)
      return %3 : tensor<2x4x6x6xf32, 687194775552 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("w")
#loc3 = loc("p_MaxPool")
#loc4 = loc("load_0")
#loc5 = loc("load_w")
#loc6 = loc("r_Relu")
#loc7 = loc("e_Sigmoid")

