import { ort, type Pointer } from './api.ts';
import { Handle } from './handle.ts';

/** Settings of single runs. */
export class RunOptions extends Handle {
  /** @param config `run.*` entries, see onnxruntime_run_options_config_keys.h */
  constructor(config: Readonly<Record<string, string>> = {}) {
    super(ort().api.CreateRunOptions());
    for (const [key, value] of Object.entries(config)) {
      ort().api.AddRunConfigEntry(this.pointer, key, value);
    }
  }

  /** Appears in ONNX Runtime's log lines about the run. */
  setTag(tag: string): void {
    ort().api.RunOptionsSetRunTag(this.pointer, tag);
  }

  /** Makes every run with these options, under way or to come, fail soon. */
  terminate(): void {
    ort().api.RunOptionsSetTerminate(this.pointer);
  }

  /** Undoes `terminate`. */
  resume(): void {
    ort().api.RunOptionsUnsetTerminate(this.pointer);
  }

  protected override free(pointer: Pointer): void {
    ort().api.ReleaseRunOptions(pointer);
  }
}
