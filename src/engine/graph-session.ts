import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { BuiltModel } from '../model/manifest.ts';
import { OrtError } from '../ort/error.ts';
import { Session } from '../ort/session.ts';
import type { SessionOptions } from '../ort/session-options.ts';
import type { SessionWeights } from '../ort/shared-weights.ts';

/** Where ONNX Runtime looks for the weights of a graph that it is given as bytes. */
const WEIGHTS_FOLDER = 'session.model_external_initializers_file_folder_path';

/** ONNX Runtime's words for a damaged file. */
const DAMAGED: ReadonlySet<string> = new Set([
  'INVALID_GRAPH',
  'INVALID_PROTOBUF',
  'NO_MODEL',
  'NO_SUCHFILE',
]);

/**
 * Opens one of a model's graphs.
 * @param path of the graph; its weights may lie in another folder
 * @throws OrtError when it can't be loaded, naming the file
 */
export function openGraph(
  path: string,
  { weightsFolder, manifest }: Pick<BuiltModel, 'weightsFolder' | 'manifest'>,
  given: SessionOptions = {},
  weights: SessionWeights | null = null,
): Session {
  const { kernels, states, takesImageEnds = false } = manifest;
  // Operators with states are ours, and attention that is not causal, whoever computes the rest.
  const nativeKernels = kernels === 'native' || states !== undefined || takesImageEnds;
  const options = { ...given, nativeKernels };
  try {
    // Paths that lead out of the graph's own folder are refused, and links may be, too.
    if (dirname(path) === weightsFolder) return new Session(path, options, weights);
    const config = { ...options.config, [WEIGHTS_FOLDER]: weightsFolder };
    return new Session(readFileSync(path), { ...options, config }, weights);
  } catch (error) {
    if (error instanceof OrtError) error.message += ` (${path}${adviceFor(error, path)})`;
    throw error;
  }
}

function adviceFor({ code }: OrtError, path: string): string {
  return DAMAGED.has(code) ? `: delete ${dirname(path)}, and the model is built again` : '';
}
