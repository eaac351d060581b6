#!/usr/bin/env python3
"""Writes goldens/: for each model family a very small random checkpoint with what it should compute.

    python3 -m venv venv && venv/bin/pip install torch==2.15 transformers==5.23 safetensors
    venv/bin/python tests/model/data/make_goldens.py tests/model/data/goldens [CASE ...]

A case is a folder in Hugging Face layout with weights in float16 and expected.safetensors:
    prompt_I [T] token ids; greedy_I [N] the tokens that follow, each the most probable;
    decoders: logits_I [T, V] after each token of the prompt; encoders: hidden_I [T, H], or with a
    head for masked tokens both, logits_I [T, V] being of the tokens themselves, and no greedy_I;
    encoder-decoders: prompt_I is the encoder's input, greedy_I begins with the start token, and
    logits_I belongs to greedy_I[:-1].
The reference is transformers' eager code in float32 with the same rounded weights. Prompts are of 2
and 17 tokens, so that windows (6) and the long set of LongRoPE (from 12) are reached.
"""
import json
import os
import shutil
import sys

import torch
from safetensors.torch import load_file, save_file
from baichuan import Baichuan
from chatglm import ChatGlm
from published import publish
from transformers import (AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForImageTextToText,
                          AutoModelForMaskedLM, AutoModelForSeq2SeqLM)

V, H, L, A, K, D, F, P = 24, 16, 2, 4, 2, 4, 8, 64
N = 8  # a stream narrower than the heads together
IDS = dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)
SIZES = dict(vocab_size=V, hidden_size=H, num_hidden_layers=L, num_attention_heads=A,
             intermediate_size=F, max_position_embeddings=P, **IDS)
GROUPED = dict(SIZES, num_key_value_heads=K)
WIDE = dict(GROUPED, hidden_size=N, head_dim=D)
GPT = dict(vocab_size=V, n_positions=P, n_embd=H, n_layer=L, n_head=A, n_inner=F,
           bos_token_id=1, eos_token_id=2)
BLOCKS = dict(vocab_size=V, d_model=H, n_heads=A, n_layers=L, max_seq_len=P)
FALCON = dict(vocab_size=V, hidden_size=H, num_hidden_layers=L, num_attention_heads=A,
              ffn_hidden_size=F, max_position_embeddings=P, bos_token_id=1, eos_token_id=2)
OPT = dict(vocab_size=V, hidden_size=H, num_hidden_layers=L, num_attention_heads=A, ffn_dim=F,
           max_position_embeddings=P, **IDS)
PAIR = dict(vocab_size=V, d_model=N, encoder_layers=L, decoder_layers=L, encoder_attention_heads=A,
            decoder_attention_heads=A, encoder_ffn_dim=F, decoder_ffn_dim=F,
            max_position_embeddings=P)
T5 = dict(vocab_size=V, d_model=N, d_kv=D, d_ff=F, num_layers=L, num_heads=A,
          relative_attention_num_buckets=8, relative_attention_max_distance=16,
          decoder_start_token_id=0, pad_token_id=0, eos_token_id=1)
SLIDES = ["sliding_attention", "full_attention"]
GEMMA4 = dict(WIDE, global_head_dim=8, sliding_window=6, hidden_size_per_layer_input=0)
# What sees, as small as its class allows: it is not read.
TOWER = dict(hidden_size=4, intermediate_size=4, num_hidden_layers=1, num_attention_heads=2,
             image_size=4, patch_size=2)
CLIP = dict(TOWER, model_type="clip_vision_model")
PIXTRAL = dict(TOWER, model_type="pixtral", hidden_size=8, head_dim=4)
BLOCKS_THAT_SEE = dict(depth=1, hidden_size=4, out_hidden_size=N, num_heads=2, intermediate_size=4,
                       patch_size=2, in_channels=1)
GLM_SEES = dict(BLOCKS_THAT_SEE, image_size=4)
QWEN3_SEES = dict(BLOCKS_THAT_SEE, num_position_embeddings=4, deepstack_visual_indexes=[0])
MULTIPLIERS = dict(embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.3,
                   logits_scaling=4.0)


def rope(kind, theta=10000.0, **more):
    return dict(rope_type=kind, rope_theta=theta, **more)


def three_axes(*sections, **more):
    """The angles of positions in time, height and width, which are equal in a text."""
    return rope("default", mrope_section=list(sections), **more)


def seen(text_type, vision, **text):
    """A text model inside of one that sees."""
    return dict(text_config=dict(WIDE, model_type=text_type, **text), vision_config=vision,
                eos_token_id=2)


# case: (kind, model_type, config)
CASES = {
    "afmoe": ("lm", "afmoe", dict(WIDE, sliding_window=6, layer_types=SLIDES, num_experts=4,
                                  num_experts_per_tok=2, num_dense_layers=1,
                                  moe_intermediate_size=8, mup_enabled=True, route_scale=1.5)),
    "apertus": ("lm", "apertus", WIDE),
    "aquila": ("lm", "llama", GROUPED),
    "arcee": ("lm", "arcee", WIDE),
    "aria": ("sees", "aria", seen("aria_text", dict(TOWER, model_type="idefics3_vision"), moe_num_experts=3,
                                   moe_topk=2, moe_num_shared_experts=2)),
    "aria_text": ("lm", "aria_text", dict(WIDE, moe_num_experts=3, moe_topk=2,
                                          moe_num_shared_experts=2, intermediate_size=8)),
    "baichuan": ("lm", "llama", SIZES),
    "baichuan-alibi": ("lm", "baichuan", dict(
        SIZES, model_type="baichuan", architectures=["BaichuanForCausalLM"], model_max_length=P,
        rms_norm_eps=1e-6, hidden_act="silu", tie_word_embeddings=False, normalize_lm_head=True,
        max_position_embeddings=None)),
    "bart": ("pair", "bart", dict(PAIR, bos_token_id=0, eos_token_id=2, pad_token_id=1,
                                  decoder_start_token_id=2)),
    "bart-alone": ("lm", "bart", dict(PAIR, bos_token_id=0, eos_token_id=2, pad_token_id=1)),
    "bart-untied": ("pair", "bart", dict(PAIR, bos_token_id=0, eos_token_id=2, pad_token_id=1,
                                         decoder_start_token_id=2, tie_word_embeddings=False)),
    "bert": ("encoder", "bert", SIZES),
    "bert-decoder": ("lm", "bert", dict(SIZES, is_decoder=True)),
    "bert-masked": ("masked", "bert", dict(SIZES, tie_word_embeddings=False)),
    "bert_generation": ("lm", "bert-generation", dict(SIZES, is_decoder=True)),
    "biogpt": ("lm", "biogpt", SIZES),
    "bitnet": ("lm", "bitnet", dict(GROUPED, head_dim=D)),
    "blenderbot": ("pair", "blenderbot", dict(PAIR, **IDS, decoder_start_token_id=1)),
    "blenderbot-small": ("pair", "blenderbot-small", dict(PAIR, **IDS, decoder_start_token_id=1)),
    "bloom": ("lm", "bloom", dict(vocab_size=V, hidden_size=H, n_layer=L, n_head=A, **IDS)),
    "chatglm": ("lm", "chatglm", dict(
        model_type="chatglm", architectures=["ChatGLMModel"], padded_vocab_size=V, hidden_size=H,
        num_layers=L, num_attention_heads=A, kv_channels=8, multi_query_attention=True,
        multi_query_group_num=K, ffn_hidden_size=F, seq_length=P, layernorm_epsilon=1e-5,
        rmsnorm=True, post_layer_norm=True, add_bias_linear=False, add_qkv_bias=True, rope_ratio=50,
        apply_residual_connection_post_layernorm=False, tie_word_embeddings=False,
        eos_token_id=2)),
    "codegen": ("lm", "codegen", dict(GPT, n_ctx=P, rotary_dim=2)),
    "cohere": ("lm", "cohere", dict(GROUPED, use_qk_norm=True, logit_scale=0.25)),
    # Its class does not scale the logits, as the text model alone does.
    "cohere2_vision": ("sees", "cohere2_vision", dict(
        seen("cohere2", dict(TOWER, model_type="siglip_vision_model", vision_use_head=False),
             sliding_window=6, layer_types=SLIDES, logit_scale=1.0),
        alignment_intermediate_size=8)),
    "cohere_compass_text": ("lm", "cohere_compass_text", dict(
        GROUPED, sliding_window=6, layer_types=SLIDES, logit_scale=0.25,
        rope_parameters=dict(sliding_attention=dict(rope("default"), mrope_section=[1, 1, 0]),
                             full_attention=None))),
    "cohere2": ("lm", "cohere2", dict(GROUPED, sliding_window=6, layer_types=SLIDES,
                                      logit_scale=0.25)),
    "cohere2_moe": ("lm", "cohere2_moe", dict(GROUPED, sliding_window=6, layer_types=SLIDES,
                                              logit_scale=0.25, num_experts=4,
                                              num_experts_per_tok=2, num_shared_experts=1,
                                              intermediate_size=8)),
    "cohere2_moe-sigmoid": ("lm", "cohere2_moe", dict(
        GROUPED, sliding_window=6, layer_types=SLIDES, num_experts=4, num_experts_per_tok=2,
        num_shared_experts=1, shared_expert_combination_strategy="sum", rms_norm_eps=1e-5,
        expert_selection_fn="sigmoid", intermediate_size=8, prefix_dense_intermediate_size=12,
        mlp_layer_types=["sparse", "dense"])),
    "ctrl": ("lm", "ctrl", dict(GPT, dff=F)),
    "cwm": ("lm", "cwm", dict(GROUPED, head_dim=D, sliding_window=6, layer_types=SLIDES)),
    "data2vec-decoder": ("lm", "data2vec-text", dict(SIZES, is_decoder=True, pad_token_id=1,
                                                     bos_token_id=0)),
    "dbrx": ("lm", "dbrx", dict(BLOCKS, attn_config=dict(kv_n_heads=K, clip_qkv=1.0,
                                                         rope_theta=10000.0),
                                ffn_config=dict(ffn_hidden_size=8, moe_num_experts=3,
                                                moe_top_k=2))),
    "deepseek": ("lm", "qwen2_moe", dict(GROUPED, num_experts=3, num_experts_per_tok=2,
                                         moe_intermediate_size=8, mlp_only_layers=[0],
                                         shared_expert_intermediate_size=8, qkv_bias=False)),
    "distilbert-masked": ("masked", "distilbert", dict(
        vocab_size=V, dim=H, n_layers=L, n_heads=A, hidden_dim=F, max_position_embeddings=P)),
    "dots1": ("lm", "dots1", dict(WIDE, n_routed_experts=6, num_experts_per_tok=2,
                                  n_shared_experts=1, moe_intermediate_size=8,
                                  first_k_dense_replace=1, n_group=3, topk_group=2,
                                  routed_scaling_factor=1.5, norm_topk_prob=True,
                                  sliding_window=6, layer_types=SLIDES)),
    "ernie-decoder": ("lm", "ernie", dict(SIZES, is_decoder=True)),
    "ernie4_5": ("lm", "ernie4_5", WIDE),
    "ernie4_5_moe": ("lm", "ernie4_5_moe", dict(GROUPED, moe_num_experts=4, moe_k=2,
                                                moe_intermediate_size=8, moe_num_shared_experts=1,
                                                moe_layer_start_index=1)),
    "exaone4": ("lm", "exaone4", dict(GROUPED, sliding_window=6, layer_types=SLIDES)),
    "exaone4_5": ("sees", "exaone4_5", seen("exaone4", BLOCKS_THAT_SEE, sliding_window=6,
                                             layer_types=SLIDES)),
    "exaone_moe": ("lm", "exaone_moe", dict(WIDE, sliding_window=6, layer_types=SLIDES,
                                            mlp_layer_types=["sparse", "dense"], num_experts=4,
                                            num_experts_per_tok=2, moe_intermediate_size=8)),
    "falcon": ("lm", "falcon", dict(FALCON, multi_query=True, parallel_attn=True, bias=False)),
    "falcon-alibi": ("lm", "falcon", dict(FALCON, multi_query=False, parallel_attn=False,
                                          alibi=True, bias=True)),
    "falcon-groups": ("lm", "falcon", dict(FALCON, num_kv_heads=K, new_decoder_architecture=True,
                                           bias=False)),
    "flex_olmo": ("lm", "flex_olmo", dict(GROUPED, num_experts=3, num_experts_per_tok=2,
                                          intermediate_size=8)),
    "flint": ("lm", "flint", dict(WIDE, num_experts=4, num_experts_per_tok=2,
                                  moe_intermediate_size=8, shared_expert_intermediate_size=12,
                                  mlp_only_layers=[0], sliding_window=6, layer_types=SLIDES)),
    "fuyu": ("lm", "fuyu", dict(patch_size=2, num_channels=1, eos_token_id=2, text_config=dict(
        SIZES, model_type="persimmon", partial_rotary_factor=0.5))),
    "gemma": ("lm", "gemma", WIDE),
    "gemma2": ("lm", "gemma2", dict(WIDE, query_pre_attn_scalar=24, sliding_window=6,
                                    layer_types=SLIDES, attn_logit_softcapping=5.0,
                                    final_logit_softcapping=3.0)),
    "gemma3": ("lm", "gemma3_text", dict(WIDE, query_pre_attn_scalar=24, sliding_window=6,
                                         layer_types=SLIDES)),
    "gemma3-nested": ("lm", "gemma3_text", dict(WIDE, query_pre_attn_scalar=24, sliding_window=6,
                                                layer_types=SLIDES)),
    "gemma4": ("lm", "gemma4_text", dict(
        GEMMA4, num_hidden_layers=3, attention_k_eq_v=True, num_global_key_value_heads=1,
        layer_types=["sliding_attention", "full_attention", "full_attention"],
        final_logit_softcapping=3.0)),
    "gemma4-nested": ("lm", "gemma4_text", dict(GEMMA4, layer_types=SLIDES)),
    "gemma4-moe": ("lm", "gemma4_text", dict(GEMMA4, layer_types=SLIDES, enable_moe_block=True,
                                             num_experts=4, top_k_experts=2,
                                             moe_intermediate_size=8)),
    "gemma4-e": ("lm", "gemma4_text", dict(
        GEMMA4, num_hidden_layers=4, layer_types=SLIDES * 2, hidden_size_per_layer_input=4,
        vocab_size_per_layer_input=V, num_kv_shared_layers=2, use_double_wide_mlp=True)),
    "gemma4_unified": ("lm", "gemma4_unified_text", dict(
        GEMMA4, layer_types=SLIDES, attention_k_eq_v=True, num_global_key_value_heads=1)),
    "glm": ("lm", "glm", dict(WIDE, partial_rotary_factor=0.5)),
    "glm4": ("lm", "glm4", dict(WIDE, partial_rotary_factor=0.5)),
    "glm4_moe": ("lm", "glm4_moe", dict(WIDE, partial_rotary_factor=0.5, n_routed_experts=6,
                                        num_experts_per_tok=2, n_shared_experts=1,
                                        moe_intermediate_size=8, first_k_dense_replace=1,
                                        n_group=3, topk_group=2, routed_scaling_factor=1.5,
                                        use_qk_norm=True)),
    "glm4v": ("sees", "glm4v", seen(
        "glm4v_text", dict(GLM_SEES, out_hidden_size=H), hidden_size=H,
        rope_parameters=three_axes(1, 0, 0, partial_rotary_factor=0.5))),
    "glm4v_moe": ("sees", "glm4v_moe", seen(
        "glm4v_moe_text", GLM_SEES, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1,
        moe_intermediate_size=8, first_k_dense_replace=1, n_group=3, topk_group=2,
        routed_scaling_factor=1.5,
        rope_parameters=three_axes(1, 0, 0, partial_rotary_factor=0.5))),
    "glm_ocr": ("sees", "glm_ocr", seen("glm_ocr_text", GLM_SEES,
                                         rope_parameters=three_axes(1, 1, 0))),
    "gpt2": ("lm", "gpt2", GPT),
    "gpt_bigcode": ("lm", "gpt_bigcode", dict(GPT, multi_query=True)),
    "gpt_bigcode-heads": ("lm", "gpt_bigcode", dict(GPT, multi_query=False)),
    "gpt_neo": ("lm", "gpt_neo", dict(vocab_size=V, hidden_size=H, num_layers=L, num_heads=A,
                                      intermediate_size=F, max_position_embeddings=P, window_size=6,
                                      attention_types=[[["global", "local"], 1]],
                                      bos_token_id=1, eos_token_id=2)),
    "gpt_neox": ("lm", "gpt_neox", dict(SIZES, rotary_pct=0.5, use_parallel_residual=True)),
    "gpt_neox-in_memory": ("lm", "gpt_neox", dict(SIZES, rotary_pct=0.5)),
    "gpt_neox-sequential": ("lm", "gpt_neox", dict(SIZES, rotary_pct=0.5,
                                                   use_parallel_residual=False)),
    "gpt_neox_japanese": ("lm", "gpt_neox_japanese", dict(
        vocab_size=V, hidden_size=H, num_hidden_layers=L, num_attention_heads=A,
        intermediate_multiple_size=2, max_position_embeddings=P, rotary_pct=0.5, bos_token_id=1,
        eos_token_id=2)),
    "gpt_oss": ("lm", "gpt_oss", dict(WIDE, num_local_experts=3, num_experts_per_tok=2,
                                      sliding_window=6, layer_types=SLIDES,
                                      intermediate_size=8)),
    "gptj": ("lm", "gptj", dict(GPT, rotary_dim=2)),
    "granite": ("lm", "granite", dict(GROUPED, **MULTIPLIERS)),
    "granitemoe": ("lm", "granitemoe", dict(GROUPED, **MULTIPLIERS, num_local_experts=3,
                                            num_experts_per_tok=2)),
    "granite_swa": ("lm", "granite_swa", dict(GROUPED, **MULTIPLIERS, sliding_window=6,
                                              layer_types=SLIDES, layer_rope_theta=[100.0, 0])),
    "granitemoe-dense": ("lm", "granitemoehybrid", dict(
        GROUPED, **MULTIPLIERS, num_local_experts=0, shared_intermediate_size=12,
        layer_types=["full_attention"] * L, position_embedding_type="rope", mamba_n_heads=4)),
    "granitemoe_swa": ("lm", "granitemoe_swa", dict(GROUPED, **MULTIPLIERS, num_local_experts=3,
                                                    num_experts_per_tok=2, sliding_window=6,
                                                    shared_intermediate_size=12,
                                                    layer_types=SLIDES,
                                                    layer_rope_theta=[0, 100.0])),
    "granitemoeshared": ("lm", "granitemoeshared", dict(GROUPED, **MULTIPLIERS,
                                                        num_local_experts=3,
                                                        num_experts_per_tok=2,
                                                        shared_intermediate_size=12)),
    "helium": ("lm", "helium", dict(GROUPED, head_dim=D)),
    "hunyuan": ("lm", "hunyuan_v1_dense", WIDE),
    "hunyuan-alpha": ("lm", "hunyuan_v1_dense", dict(WIDE, rope_parameters=rope(
        "dynamic", alpha=50.0, factor=1.0))),
    "hunyuan_moe": ("lm", "hunyuan_v1_moe", dict(WIDE, num_experts=3, moe_topk=2,
                                                 intermediate_size=8)),
    "hy_v3": ("lm", "hy_v3", dict(WIDE, num_experts=4, num_experts_per_tok=2,
                                  moe_intermediate_size=8, mlp_layer_types=["sparse", "dense"])),
    "hyperclovax": ("lm", "hyperclovax", dict(GROUPED, **MULTIPLIERS, head_dim=D,
                                              use_post_norm=True)),
    "internlm": ("lm", "llama", dict(SIZES, attention_bias=True)),
    "internlm2": ("lm", "llama", GROUPED),
    "internvl": ("sees", "internvl", seen("qwen3", dict(TOWER, image_size=[4, 4], patch_size=[2, 2]))),
    "jais2": ("lm", "jais2", dict(GROUPED, head_dim=D)),
    "laguna": ("lm", "laguna", dict(WIDE, sliding_window=6, layer_types=SLIDES, num_experts=4,
                                    num_experts_per_tok=2, moe_intermediate_size=8,
                                    shared_expert_intermediate_size=12,
                                    num_attention_heads_per_layer=[4, 6],
                                    mlp_layer_types=["dense", "sparse"],
                                    moe_routed_scaling_factor=1.5,
                                    moe_router_logit_softcapping=1.5)),
    "laguna-numbers": ("lm", "laguna", dict(WIDE, num_experts=4, num_experts_per_tok=2,
                                            moe_intermediate_size=8, gating="per-element",
                                            shared_expert_intermediate_size=12)),
    "llama": ("lm", "llama", WIDE),
    "llama-biases": ("lm", "llama", dict(WIDE, attention_bias=True, mlp_bias=True,
                                         tie_word_embeddings=True)),
    # Of its four frequencies one is kept, one smoothed and two are scaled.
    "llama-llama3": ("lm", "llama", dict(WIDE, head_dim=8, rope_parameters=rope(
        "llama3", theta=100.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=32))),
    # The longer prompt fills its context: the reference has another base for each length.
    "llama-dynamic": ("lm", "llama", dict(WIDE, max_position_embeddings=10, rope_parameters=rope(
        "dynamic", factor=1.7))),
    "llama-yarn": ("lm", "llama", dict(WIDE, rope_parameters=rope(
        "yarn", factor=4.0, original_max_position_embeddings=16))),
    "llava": ("sees", "llava", seen("llama", CLIP)),
    "llava_next": ("sees", "llava_next", seen("mistral", CLIP, sliding_window=6)),
    "m2m100": ("pair", "m2m_100", dict(PAIR, **IDS, decoder_start_token_id=2)),
    "marian": ("pair", "marian", dict(PAIR, **IDS, decoder_start_token_id=0)),
    "mbart": ("pair", "mbart", dict(PAIR, **IDS, decoder_start_token_id=2)),
    "mellum": ("lm", "mellum", dict(WIDE, num_experts=3, num_experts_per_tok=2,
                                    moe_intermediate_size=8, sliding_window=6, layer_types=SLIDES,
                                    mlp_layer_types=["sparse", "dense"])),
    "megatron-decoder": ("lm", "megatron-bert", dict(SIZES, is_decoder=True)),
    "megatron-masked": ("masked", "megatron-bert", dict(SIZES, hidden_act="relu",
                                                        tie_word_embeddings=False)),
    "minicpm": ("lm", "granite", dict(GROUPED, embedding_multiplier=3.0, residual_multiplier=0.75,
                                       attention_multiplier=D ** -0.5, logits_scaling=4.0,
                                       tie_word_embeddings=True)),
    "minimax_m2": ("lm", "minimax_m2", dict(WIDE, num_local_experts=4, num_experts_per_tok=2,
                                            intermediate_size=8, rotary_dim=4)),
    "ministral": ("lm", "ministral", dict(WIDE, sliding_window=6, layer_types=SLIDES)),
    "ministral3": ("lm", "ministral3", dict(GROUPED, head_dim=D, rope_parameters=rope(
        "yarn", factor=4.0, original_max_position_embeddings=5, llama_4_scaling_beta=0.5))),
    "mistral": ("lm", "mistral", dict(WIDE, sliding_window=6)),
    "mistral3": ("sees", "mistral3", seen("ministral3", PIXTRAL, rope_parameters=rope(
        "yarn", factor=4.0, original_max_position_embeddings=5, llama_4_scaling_beta=0.5))),
    "mixtral": ("lm", "mixtral", dict(WIDE, num_local_experts=3, num_experts_per_tok=2)),
    "mixtral-in_memory": ("lm", "mixtral", dict(WIDE, num_local_experts=3, num_experts_per_tok=2)),
    "modernbert": ("encoder", "modernbert", dict(
        SIZES, local_attention=9, layer_types=SLIDES, norm_bias=True, mlp_bias=True,
        attention_bias=True, cls_token_id=1, sep_token_id=2)),
    "modernbert-masked": ("masked", "modernbert", dict(
        SIZES, local_attention=9, layer_types=SLIDES, cls_token_id=1, sep_token_id=2)),
    "modernbert_decoder": ("lm", "modernbert-decoder", dict(
        SIZES, sliding_window=6, layer_types=SLIDES, norm_bias=True, mlp_bias=True,
        attention_bias=True, cls_token_id=1, sep_token_id=2)),
    "mpnet-masked": ("masked", "mpnet", dict(SIZES, pad_token_id=1, bos_token_id=0)),
    "mpt": ("lm", "mpt", BLOCKS),
    "mvp": ("pair", "mvp", dict(PAIR, bos_token_id=0, eos_token_id=2, pad_token_id=1,
                                decoder_start_token_id=2)),
    "nanochat": ("lm", "nanochat", GROUPED),
    "nemotron": ("lm", "nemotron", dict(WIDE, partial_rotary_factor=0.5)),
    "nomic_bert-masked": ("masked", "nomic_bert", SIZES),
    "olmo": ("lm", "olmo", dict(GROUPED, clip_qkv=1.0)),
    "olmo2": ("lm", "olmo2", GROUPED),
    "olmo3": ("lm", "olmo3", dict(GROUPED, sliding_window=6, layer_types=SLIDES)),
    "olmoe": ("lm", "olmoe", dict(GROUPED, num_experts=3, num_experts_per_tok=2,
                                  intermediate_size=8)),
    "openai_gpt": ("lm", "openai-gpt", GPT),
    "opt": ("lm", "opt", dict(OPT, word_embed_proj_dim=H)),
    "opt-projected": ("lm", "opt", dict(OPT, word_embed_proj_dim=8, do_layer_norm_before=False)),
    "orion": ("lm", "stablelm", dict(GROUPED, partial_rotary_factor=1.0)),
    "paddleocr_vl": ("sees", "paddleocr_vl", seen("paddleocr_vl_text", TOWER,
                                                   rope_parameters=three_axes(1, 1, 0))),
    "pegasus": ("pair", "pegasus", dict(PAIR, decoder_start_token_id=0, eos_token_id=1,
                                        pad_token_id=0)),
    "persimmon": ("lm", "persimmon", dict(SIZES, partial_rotary_factor=0.5)),
    "phi": ("lm", "phi", dict(SIZES, partial_rotary_factor=0.5, qk_layernorm=True)),
    "phi-tied": ("lm", "phi", dict(SIZES, tie_word_embeddings=True)),
    "phi3": ("lm", "phi3", dict(GROUPED, original_max_position_embeddings=P, sliding_window=6)),
    "phi3-longrope": ("lm", "phi3", dict(GROUPED, original_max_position_embeddings=12,
                                         rope_parameters=rope("longrope", short_factor=[1.0, 1.3],
                                                              long_factor=[2.0, 3.5]))),
    "phi4_multimodal": ("lm", "phi4_multimodal", dict(
        GROUPED, partial_rotary_factor=0.5, original_max_position_embeddings=P,
        audio_config=dict(hidden_size=8, intermediate_size=8, num_blocks=1, input_size=16,
                          num_attention_heads=2, ext_pw_out_channel=8, nemo_conv_channels=8,
                          depthwise_separable_out_channel=8),
        vision_config=dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, patch_size=14,
                           num_attention_heads=2, image_size=28, crop_size=28))),
    "phimoe": ("lm", "phimoe", dict(GROUPED, num_local_experts=4, num_experts_per_tok=2,
                                    attention_bias=True, lm_head_bias=True,
                                    router_jitter_noise=0.2)),
    "plbart": ("pair", "plbart", dict(PAIR, bos_token_id=0, eos_token_id=2, pad_token_id=1,
                                      decoder_start_token_id=2)),
    "qwen2": ("lm", "qwen2", dict(GROUPED, tie_word_embeddings=True)),
    "qwen2_5_vl": ("sees", "qwen2_5_vl", seen(
        "qwen2_5_vl_text", dict(BLOCKS_THAT_SEE, out_hidden_size=H, fullatt_block_indexes=[0]),
        hidden_size=H, rope_parameters=three_axes(1, 1, 0))),
    "qwen2_moe": ("lm", "qwen2_moe", dict(GROUPED, num_experts=3, num_experts_per_tok=2,
                                          moe_intermediate_size=8, mlp_only_layers=[1],
                                          shared_expert_intermediate_size=12)),
    "qwen2_vl": ("sees", "qwen2_vl", seen(
        "qwen2_vl_text", dict(depth=1, embed_dim=4, hidden_size=H, num_heads=2, mlp_ratio=1,
                              patch_size=2, in_channels=1),
        hidden_size=H, rope_parameters=three_axes(1, 1, 0), tie_word_embeddings=True)),
    "qwen3": ("lm", "qwen3", WIDE),
    "qwen3_moe": ("lm", "qwen3_moe", dict(WIDE, num_experts=3, num_experts_per_tok=2,
                                          moe_intermediate_size=8, norm_topk_prob=True)),
    "qwen3_vl": ("sees", "qwen3_vl", seen("qwen3_vl_text", QWEN3_SEES, rope_parameters=three_axes(
        1, 1, 0, mrope_interleaved=True))),
    "qwen3_vl_moe": ("sees", "qwen3_vl_moe", seen(
        "qwen3_vl_moe_text", QWEN3_SEES, num_experts=3, num_experts_per_tok=2,
        moe_intermediate_size=16, rope_parameters=three_axes(1, 1, 0, mrope_interleaved=True))),
    "qwen3_vl_moe-in_memory": ("sees", "qwen3_vl_moe", seen(
        "qwen3_vl_moe_text", QWEN3_SEES, num_experts=3, num_experts_per_tok=2,
        moe_intermediate_size=16, rope_parameters=three_axes(1, 1, 0, mrope_interleaved=True))),
    "roberta": ("encoder", "roberta", dict(SIZES, pad_token_id=1, bos_token_id=0)),
    "roberta-decoder": ("lm", "roberta", dict(SIZES, is_decoder=True, pad_token_id=1,
                                              bos_token_id=0)),
    "roberta-masked": ("masked", "roberta", dict(SIZES, pad_token_id=1, bos_token_id=0)),
    "roberta_prelayernorm": ("encoder", "roberta-prelayernorm", dict(SIZES, pad_token_id=1,
                                                                     bos_token_id=0)),
    "roberta_prelayernorm-masked": ("masked", "roberta-prelayernorm", dict(SIZES, pad_token_id=1,
                                                                           bos_token_id=0)),
    "roformer-decoder": ("lm", "roformer", dict(SIZES, is_decoder=True, embedding_size=12)),
    "roformer-masked": ("masked", "roformer", dict(SIZES, hidden_act="relu", embedding_size=12)),
    "seed_oss": ("lm", "seed_oss", WIDE),
    "smollm3": ("lm", "smollm3", dict(GROUPED, no_rope_layers=[1, 0])),
    "smolvlm": ("sees", "smolvlm", seen("llama", TOWER)),
    "solar_open": ("lm", "solar_open", dict(WIDE, n_routed_experts=4, num_experts_per_tok=2,
                                            n_shared_experts=1, moe_intermediate_size=8)),
    "stablelm": ("lm", "stablelm", dict(GROUPED, partial_rotary_factor=0.5, qk_layernorm=True,
                                        use_qkv_bias=True)),
    "stablelm-parallel": ("lm", "stablelm", dict(GROUPED, partial_rotary_factor=0.5,
                                                 use_parallel_residual=True)),
    "starcoder2": ("lm", "starcoder2", dict(GROUPED, sliding_window=6)),
    "t5": ("pair", "t5", T5),
    "t5-gated": ("pair", "t5", dict(T5, feed_forward_proj="gated-gelu",
                                    tie_word_embeddings=False)),
    "umt5": ("pair", "umt5", dict(T5, feed_forward_proj="gated-gelu")),
    "vaultgemma": ("lm", "vaultgemma", dict(WIDE, query_pre_attn_scalar=24, sliding_window=6,
                                            layer_types=SLIDES)),
    "xglm": ("lm", "xglm", dict(vocab_size=V, d_model=H, ffn_dim=F, num_layers=L, attention_heads=A,
                                max_position_embeddings=P, pad_token_id=1, bos_token_id=0,
                                eos_token_id=2)),
    "xlm_roberta_xl": ("lm", "xlm-roberta-xl", dict(SIZES, is_decoder=True, pad_token_id=1,
                                                    bos_token_id=0)),
    # Its head has gelu, whatever its layers have.
    "xlm_roberta_xl-masked": ("masked", "xlm-roberta-xl", dict(SIZES, hidden_act="relu",
                                                               pad_token_id=1, bos_token_id=0)),
    "xverse": ("lm", "llama", SIZES),
}

# Tensors that a file lacks: half precision would round positions that are computed (Marian's files
# have none), and what sees and hears is not read.
LEFT_OUT = {"marian": "embed_positions", "roformer-decoder": "embed_positions",
            "roformer-masked": "embed_positions", "phi4_multimodal": "embed_tokens_extend"}
# See published.py.
ZERO = {"deepseek": ["model.layers.1.mlp.shared_expert_gate.weight"]}
# With the names that tensors have in memory, which save_pretrained changes to older ones.
IN_MEMORY = {"gpt_neox-in_memory", "mixtral-in_memory", "qwen3_vl_moe-in_memory"}
# The reference has another dynamic base for each length, and one is that of the whole context.
REACH = {"llama-dynamic": 17}
# Eager Falcon adds ALiBi twice: to the scores and, with the mask, once more.
ATTENTION = {"falcon-alibi": "sdpa"}
CLASSES = {"lm": AutoModelForCausalLM, "encoder": AutoModel, "masked": AutoModelForMaskedLM,
           "pair": AutoModelForSeq2SeqLM, "sees": AutoModelForImageTextToText}
# What transformers does not have.
OWN = {"baichuan": Baichuan, "chatglm": ChatGlm}
# As they were published: the fields of the text model beside those of what sees, and experts
# stored [inputs, outputs].
FLAT = {"qwen2_vl"}
TRANSPOSED = {"qwen3_vl_moe"}


def randomize(model, name, generator):
    """Every number random, so that none hides; rounded to float16."""
    numbers = list(model.named_parameters())
    if name in LEFT_OUT:
        numbers = [(n, p) for n, p in numbers if LEFT_OUT[name] not in n]
    buffers = ("correction_bias", "layer_scalar")
    numbers += [(n, b) for n, b in model.named_buffers() if any(part in n for part in buffers)]
    with torch.no_grad():
        for tensor_name, tensor in numbers:
            noise = torch.randn(tensor.shape, generator=generator)
            if tensor.dim() == 1:
                lower = tensor_name.lower()
                is_norm = tensor_name.endswith("weight") and ("norm" in lower or "ln" in lower)
                is_scale = tensor_name.endswith("layer_scalar")
                noise = 0.1 * noise + (1.0 if is_norm or is_scale else 0.0)
            elif not any(part in tensor_name for part in ("emb", "wte", "wpe", "shared.weight")):
                noise = noise * 1.4 / tensor.shape[-1] ** 0.5
            if tensor_name in ZERO.get(name, ()):
                noise = torch.zeros(tensor.shape)
            tensor.copy_(noise.half().float())


def expect(model, kind, prompt, reach):
    if kind == "encoder":
        return {"hidden": model(prompt[None]).last_hidden_state[0]}
    if kind == "masked":
        hidden = model.base_model(prompt[None]).last_hidden_state[0]
        return {"logits": model(prompt[None]).logits[0], "hidden": hidden}
    if kind in ("lm", "sees"):
        ids = prompt
        for _ in range(min(8, reach + 1 - len(prompt))):
            ids = torch.cat([ids, model(ids[None]).logits[0, -1].argmax()[None]])
        return {"logits": model(prompt[None]).logits[0], "greedy": ids[len(prompt):]}
    ids = torch.tensor([model.config.decoder_start_token_id])
    for _ in range(8):
        logits = model(input_ids=prompt[None], decoder_input_ids=ids[None]).logits[0]
        ids = torch.cat([ids, logits[-1].argmax()[None]])
    return {"logits": logits, "greedy": ids}


def nest(folder):
    """As the text half of a model that also sees is stored: sizes and tensors one level down."""
    text = json.load(open(f"{folder}/config.json"))
    family = text["model_type"].removesuffix("_text")
    outer = dict(architectures=[family.capitalize() + "ForConditionalGeneration"],
                 model_type=family, eos_token_id=2, text_config=text)
    with open(f"{folder}/config.json", "w") as file:
        file.write(json.dumps(outer, indent=2) + "\n")
    tensors = load_file(f"{folder}/model.safetensors")
    tensors = {"language_model." + name: tensor for name, tensor in tensors.items()}
    save_file(tensors, f"{folder}/model.safetensors")


def flatten(folder):
    """The fields of text_config one level up, as older files have them."""
    fields = json.load(open(f"{folder}/config.json"))
    text = fields.pop("text_config")
    rotary = text.pop("rope_parameters")
    text.update(rope_theta=rotary["rope_theta"],
                rope_scaling=dict(type="mrope", mrope_section=rotary["mrope_section"]))
    with open(f"{folder}/config.json", "w") as file:
        file.write(json.dumps({**text, **fields}, indent=2) + "\n")


def transpose_experts(folder):
    file = f"{folder}/model.safetensors"
    save_file({n: t.transpose(1, 2).contiguous() if ".experts." in n else t
               for n, t in load_file(file).items()}, file)


def make(folder, name):
    kind, model_type, fields = CASES[name]
    generator = torch.Generator().manual_seed(sum((i + 1) * ord(c) for i, c in enumerate(name)))
    if model_type in OWN:
        model = OWN[model_type]({k: v for k, v in fields.items() if v is not None})
    else:
        config = AutoConfig.for_model(model_type, **fields)
        config._attn_implementation = ATTENTION.get(name, "eager")
        model = CLASSES[kind].from_config(config).float().eval()
    randomize(model, name, generator)
    model.tie_weights()
    expected = {}
    with torch.no_grad():
        for i, length in enumerate((2, 17)):
            prompt = torch.randint(3, V, (length,), generator=generator)
            expected[f"prompt_{i}"] = prompt
            for key, value in expect(model, kind, prompt, REACH.get(name, P)).items():
                expected[f"{key}_{i}"] = value.contiguous()
    shutil.rmtree(folder, ignore_errors=True)
    model.half().save_pretrained(folder)
    if name in LEFT_OUT or name in IN_MEMORY:
        file = f"{folder}/model.safetensors"
        tensors = model.state_dict() if name in IN_MEMORY else load_file(file)
        left_out = LEFT_OUT.get(name, "nothing")
        save_file({n: t.contiguous() for n, t in tensors.items() if left_out not in n}, file)
    if os.path.exists(f"{folder}/generation_config.json"):
        os.remove(f"{folder}/generation_config.json")
    save_file(expected, f"{folder}/expected.safetensors")
    if name.endswith("-nested"):
        nest(folder)
    publish(folder, name)
    if name in FLAT:
        flatten(folder)
    if name in TRANSPOSED:
        transpose_experts(folder)


if __name__ == "__main__":
    root = sys.argv[1]
    torch.set_num_threads(1)
    for case in sys.argv[2:] or CASES:
        make(os.path.join(root, case), case)
        print(case, flush=True)
