#loc = loc(unknown)
#loc1 = loc("ids")
module @gather_emb attributes {module.FLOPs = 0 : i64, module.addr_mode = "io_tag", module.asymmetric = false, module.chip = "cv184x", module.cores = 1 : i64, module.devices = 1 : i64, module.high_precision = false, module.inputs = ["ids"], module.mode = "BF16", module.outputs = ["gather2_Gather_f32"], module.platform = "ONNX", module.q_group_size = 0 : i64, module.q_symmetric = false, module.state = "TPU_ADDRESSED", module.top_run_mode = "STATIC", module.weight_file = "gather_emb_tpu_addressed_cv184x_bf16_weight.npz"} {
  module @gather_emb attributes {module.coeff_addr = 1101659111424 : i64, module.coeff_size = 4096 : i64, module.device_id = 0 : i64, module.dynamic_coeff_offset = 4096 : i64, module.neuron_addr = 2201170739200 : i64, module.neuron_size = 4096 : i64, module.step = 0 : i64} {
    func.func @main(%arg0: tensor<1x7xsi32> loc(unknown)) -> tensor<1x7x32xf32, 3298534883328 : i64> {
      %0 = "top.Input"(%arg0) {do_preprocess = true} : (tensor<1x7xsi32>) -> tensor<1x7xsi32, 4398046511104 : i64> loc(#loc1)
      %1 = call @subfunc_0(%0) : (tensor<1x7xsi32, 4398046511104 : i64>) -> tensor<1x7x32xf32, 3298534883328 : i64> loc(#loc)
      return %1 : tensor<1x7x32xf32, 3298534883328 : i64> loc(#loc)
    } loc(#loc)
    func.func @subfunc_0(%arg0: tensor<1x7xsi32, 4398046511104 : i64> loc("ids")) -> tensor<1x7x32xf32, 3298534883328 : i64> attributes {id = 0 : i64, mode = #tpu<run_mode TPU_STATIC>, next_index = array<i32: -1>} {
      %0 = "top.None"() : () -> none loc(#loc)
      %1 = "top.Weight"() {path = "tpu.Gather.source"} : () -> tensor<50x32xbf16, 1101659111424 : i64> loc(#loc2)
      %2 = "tpu.Gather"(%1, %arg0, %0) {axis = 0 : si32, if_neg_index = true, is_lora = false, is_scalar = false, keepdims = true} : (tensor<50x32xbf16, 1101659111424 : i64>, tensor<1x7xsi32, 4398046511104 : i64>, none) -> tensor<1x7x32xbf16, 2201170739200 : i64> loc(#loc3)
      %3 = "tpu.Cast"(%2) {round_mode = #tpu<round_mode HalfAwayFromZero>, with_scale = true} : (tensor<1x7x32xbf16, 2201170739200 : i64>) -> tensor<1x7x32xf32, 3298534883328 : i64> loc(#loc4)
      return %3 : tensor<1x7x32xf32, 3298534883328 : i64> loc(#loc)
    } loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc2 = loc("w1_bf16")
#loc3 = loc("gather2_Gather")
#loc4 = loc("gather2_Gather_f32")

