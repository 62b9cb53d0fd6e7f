/** Names of tensors of Idefics 3 and SmolVLM in safetensors, where their parts begin; the tower's are Gemma 3's too. */
export const TOWER = 'model.vision_model';
export const LAYERS = `${TOWER}.encoder.layers.`;
export const CONNECTOR = 'model.connector.modality_projection.proj';
/** The connector of Gemma 3. */
export const POOL_NORM = 'multi_modal_projector.mm_soft_emb_norm.weight';
export const POOL_MATRIX = 'multi_modal_projector.mm_input_projection_weight';
/** The connector of LLaVA. */
export const PROJECTOR = 'multi_modal_projector';
/** Embedding that ends a line of LLaVA-NeXT and LLaVA-OneVision. */
export const LINE_END = 'image_newline';
