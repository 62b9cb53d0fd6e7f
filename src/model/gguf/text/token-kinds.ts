/** llama.cpp's kinds of tokens (`tokenizer.ggml.token_type`). */
export const UNKNOWN = 2;
export const CONTROL = 3;
export const USER_DEFINED = 4;
export const BYTE = 6;
