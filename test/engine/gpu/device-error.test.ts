import { describe, expect, it } from 'vitest';
import { onDevice, setUpOnDevice } from '../../../src/engine/gpu/device-error.ts';
import { OrtError } from '../../../src/ort/error.ts';

/** Lines of providers whose device was lost or had no more memory. */
const SAID: readonly { text: string; message: string }[] = [
  {
    text:
      '/src/core/providers/webgpu/buffer_manager.cc:641 void Download(void*, size_t) const ' +
      'status == Success was false. Failed to download data from buffer: [Device] is lost.\n',
    message:
      'the device was lost (ONNX Runtime: Failed to download data from buffer: [Device] is lost)',
  },
  {
    text: 'WebGPU validation failed. [Invalid Buffer] is invalid.\n - While finishing.\n',
    message:
      'the device is out of memory, or a buffer is larger than it allows ' +
      '(ONNX Runtime: WebGPU validation failed. [Invalid Buffer] is invalid. - While finishing)',
  },
  {
    text: 'Failed to allocate memory for requested buffer of size 64',
    message:
      'the device is out of memory, or a buffer is larger than it allows ' +
      '(ONNX Runtime: Failed to allocate memory for requested buffer of size 64)',
  },
  {
    text: 'CUDA failure 719: unspecified launch failure',
    message: 'the device failed (ONNX Runtime: CUDA failure 719: unspecified launch failure)',
  },
];

function failWith(error: Error): () => never {
  return () => {
    throw error;
  };
}

describe('the failure of a device', () => {
  it.each(SAID)('is told in one line: $message', ({ text, message }) => {
    expect(() => onDevice(failWith(new OrtError(text, 1)))).toThrow(
      expect.objectContaining({ name: 'DeviceError', message }),
    );
  });

  it('names at the start what does not fit and what helps', () => {
    const oom = new OrtError('Failed to allocate memory', 6);
    expect(() => setUpOnDevice('a cache of 3 MiB', 'Take less', failWith(oom))).toThrow(
      'a cache of 3 MiB cannot be set up: the device is out of memory, or a buffer is larger than ' +
        'it allows (ONNX Runtime: Failed to allocate memory). Take less',
    );
  });

  it('is not what a mistake of the program is taken for', () => {
    expect(() => onDevice(failWith(new RangeError('no such row')))).toThrow(RangeError);
  });
});
