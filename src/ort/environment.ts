import koffi from 'koffi';
import { ort, type Pointer } from './api.ts';

/** OrtLoggingLevel. Errors come back as exceptions; printing them too would only repeat them. */
const LOG_FATAL_ONLY = 4;

let environment: Pointer | undefined;

/** The process's OrtEnv, made at first use and never released: sessions may outlive any owner. */
export function ortEnvironment(): Pointer {
  environment ??= ort().api.CreateEnv(LOG_FATAL_ONLY, 'chairlift');
  return environment;
}

/** Such as `1.30.0`. */
export function ortVersion(): string {
  return ort().version;
}

/** Execution providers compiled into the library, such as `CPUExecutionProvider`. */
export function availableProviders(): string[] {
  const { api } = ort();
  const list = new BigUint64Array(1);
  const count = api.GetAvailableProviders(list);
  const names: string[] = koffi.decode(list[0], 'str', count);
  api.ReleaseAvailableProviders(list[0] ?? null, count);
  return names;
}
