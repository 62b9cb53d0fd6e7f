import type { GgufFile } from './gguf-file.ts';

/** Fields of config.json on layers that have states; undefined where a file says nothing. */
export function stateFields(
  file: GgufFile,
  architecture: string,
  layers: number,
): Readonly<Record<string, unknown>> {
  const { metadata } = file;
  const number = (suffix: string) => metadata.number(`${architecture}.${suffix}`);
  const [kernel, stateSize] = [number('ssm.conv_kernel'), number('ssm.state_size')];
  const [groups, heads] = [number('ssm.group_count'), number('ssm.time_step_rank')];
  const width = number('ssm.inner_size');
  const headDim = width === undefined || heads === undefined ? undefined : width / heads;
  const recurrent = metadata.numbers(`${architecture}.attention.recurrent_layers`);
  return {
    conv_L_cache: number('shortconv.l_cache'),
    full_attention_interval: number('full_attention_interval'),
    ...(recurrent && { layer_types: Array.from(recurrent.subarray(0, layers), typeOf) }),
    linear_conv_kernel_dim: kernel,
    linear_key_head_dim: stateSize,
    linear_num_key_heads: groups,
    linear_num_value_heads: heads,
    linear_value_head_dim: headDim,
    mamba_d_conv: kernel,
    mamba_d_state: stateSize,
    mamba_n_groups: groups,
    mamba_n_heads: heads,
    mamba_d_head: headDim,
    mamba_d_ssm: width,
    // Tensors say whether there are biases.
    ...(width !== undefined && {
      mamba_rms_norm: file.isInLayers('ssm_norm.weight'),
      mamba_conv_bias: file.isInLayers('ssm_conv1d.bias'),
      mamba_proj_bias: file.isInLayers('ssm_in.bias'),
    }),
  };
}

function typeOf(isRecurrent: number): string {
  return isRecurrent ? 'linear_attention' : 'full_attention';
}
