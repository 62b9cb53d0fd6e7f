/** OrtErrorCode of onnxruntime_c_api.h, by value. */
const CODES = [
  'OK',
  'FAIL',
  'INVALID_ARGUMENT',
  'NO_SUCHFILE',
  'NO_MODEL',
  'ENGINE_ERROR',
  'RUNTIME_EXCEPTION',
  'INVALID_PROTOBUF',
  'MODEL_LOADED',
  'NOT_IMPLEMENTED',
  'INVALID_GRAPH',
  'EP_FAIL',
] as const;

/** A call into ONNX Runtime that failed, with its own message. */
export class OrtError extends Error {
  override readonly name = 'OrtError';
  /** Such as `INVALID_ARGUMENT`; `FAIL` where ONNX Runtime gives no code. */
  readonly code: string;

  constructor(message: string, code: number) {
    super(message);
    this.code = CODES[code] ?? 'FAIL';
  }
}
