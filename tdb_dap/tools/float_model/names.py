"""Names of the tensors of language models, as their files and the converter have them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class Names(Struct, frozen=True):
    """Names of layers within a block, without its number, and of those outside.

    ``fused``: name of a layer -> the one in the file that holds it and others, one below the other.
    """

    layers: str = "model.layers"
    embedding: str = "model.embed_tokens"
    norm: str = "model.norm"
    head: str = "lm_head"
    input_norm: str = "input_layernorm"
    q: str = "self_attn.q_proj"
    k: str = "self_attn.k_proj"
    v: str = "self_attn.v_proj"
    o: str = "self_attn.o_proj"
    attended_norm: str = "post_attention_layernorm"
    """Before the feed-forward part; with four norms after the attention."""
    before_mlp: str = "pre_feedforward_layernorm"
    after_mlp: str = "post_feedforward_layernorm"
    gate: str = "mlp.gate_proj"
    up: str = "mlp.up_proj"
    down: str = "mlp.down_proj"
    fused: Mapping[str, str] = field(default_factory=dict)
    is_fused_by_head: bool = False
    """Queries, keys and values of each shared head are together: those of one, then those of the next."""


COMMON = Names()

PHI3 = Names(
    q="self_attn.qkv_proj_q",
    k="self_attn.qkv_proj_k",
    v="self_attn.qkv_proj_v",
    gate="mlp.gate_up_proj_gate",
    up="mlp.gate_up_proj_up",
    fused={
        "self_attn.qkv_proj_q": "self_attn.qkv_proj",
        "self_attn.qkv_proj_k": "self_attn.qkv_proj",
        "self_attn.qkv_proj_v": "self_attn.qkv_proj",
        "mlp.gate_up_proj_gate": "mlp.gate_up_proj",
        "mlp.gate_up_proj_up": "mlp.gate_up_proj",
    },
)

CHATGLM = Names(
    layers="transformer.encoder.layers",
    embedding="transformer.embedding.word_embeddings",
    norm="transformer.encoder.final_layernorm",
    head="transformer.output_layer",
    q="self_attention.query_key_value_q",
    k="self_attention.query_key_value_k",
    v="self_attention.query_key_value_v",
    o="self_attention.dense",
    gate="mlp.dense_h_to_4h_gate",
    up="mlp.dense_h_to_4h_up",
    down="mlp.dense_4h_to_h",
    fused={
        "self_attention.query_key_value_q": "self_attention.query_key_value",
        "self_attention.query_key_value_k": "self_attention.query_key_value",
        "self_attention.query_key_value_v": "self_attention.query_key_value",
        "mlp.dense_h_to_4h_gate": "mlp.dense_h_to_4h",
        "mlp.dense_h_to_4h_up": "mlp.dense_h_to_4h",
    },
)

GLM4 = Names(
    attended_norm="post_self_attn_layernorm",
    before_mlp="post_attention_layernorm",
    after_mlp="post_mlp_layernorm",
    gate="mlp.gate_up_proj_gate",
    up="mlp.gate_up_proj_up",
    fused={"mlp.gate_up_proj_gate": "mlp.gate_up_proj", "mlp.gate_up_proj_up": "mlp.gate_up_proj"},
)

INTERNLM2 = Names(
    embedding="model.tok_embeddings",
    head="output",
    input_norm="attention_norm",
    q="attention.wqkv_q",
    k="attention.wqkv_k",
    v="attention.wqkv_v",
    o="attention.wo",
    attended_norm="ffn_norm",
    gate="feed_forward.w1",
    up="feed_forward.w3",
    down="feed_forward.w2",
    fused={
        "attention.wqkv_q": "attention.wqkv",
        "attention.wqkv_k": "attention.wqkv",
        "attention.wqkv_v": "attention.wqkv",
    },
    is_fused_by_head=True,
)
