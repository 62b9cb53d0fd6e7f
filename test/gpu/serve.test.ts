import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metric, stream, type StreamedCompletion } from '../support/http-client.ts';
import { C_COMPILER, needs } from '../support/needs.ts';
import { runToEnd, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { faultyDriver, SOFTWARE_VULKAN, softwareDriver } from '../support/vulkan-driver.ts';

const driver = softwareDriver();
const cache = await temporaryCache();
afterAll(() => cache.remove());

const faulty = faultyDriver(cache.path);

// The smaller one: what takes long here is the driver's computing.
const MODEL = ['--model', 'models/foothill', '--max-model-len', '96'];
const question = { messages: [{ role: 'user', content: 'What is 23 + 45?' }] };

describe('serve --device webgpu', { timeout: 100_000, ...needs(SOFTWARE_VULKAN) }, () => {
  let server: ServerProcess;
  let undisturbed: StreamedCompletion;
  beforeAll(async () => {
    const flags = [...MODEL, '--device', 'webgpu', '--max-num-seqs', '2'];
    server = await startServer(flags, { ...cache.env, ...driver, ...faulty?.env });
    undisturbed = await ask();
  });
  afterAll(() => server.stop());
  const ask = (body: object = question, onText?: () => void, { url } = server) =>
    stream(`${url}/v1/chat/completions`, { ...body, temperature: 0 }, onText);

  it('says what it computes on and in', () => {
    expect(server.output()).toMatch(/fp32 on webgpu \(SwiftShader/);
    expect(server.output()).toContain('computed in float32: this webgpu has no float16');
  });

  it('goes on with a text when its device is lost', needs(C_COMPILER), async () => {
    let pieces = 0;
    const disturbed = await ask(question, () => {
      pieces += 1;
      if (pieces === 2) faulty?.inject('lost');
    });
    expect(disturbed).toEqual(undisturbed);
    expect(server.output()).toContain('the device was lost (ONNX Runtime: ');
    expect(await metric(server.url, 'chairlift_engine_crashes_total')).toBe(1);
  });

  it('goes on with a text when its device has no memory', needs(C_COMPILER), async () => {
    faulty?.inject('oom');
    // Memory is allocated in large pieces: a run that needs nothing new finds some left.
    for (let count = 5; faulty?.isPending('oom'); count += 5) {
      const content = Array.from({ length: count }, (_, index) => index).join(' ');
      const counting = { messages: [{ role: 'user', content }], max_tokens: 8 };
      const disturbed = await ask(counting);
      expect(disturbed.done).toBe(true);
      expect(disturbed).toEqual(await ask(counting));
    }
    // Reads in place of what got no memory can also crash the software driver first.
    expect(server.output()).toMatch(/the device is out of memory|signal SIGSEGV/);
    expect(await metric(server.url, 'chairlift_engine_crashes_total')).toBe(2);
  });

  it('says how large a KV cache the device has no memory for', async () => {
    const flags = ['--device', 'webgpu', '--max-num-seqs', '4096', '--kv-cache-memory', '512g'];
    const env = { ...cache.env, ...driver };
    const { code, output } = await runToEnd(['serve', '--port', '0', ...flags], env);
    expect(code).toBe(1);
    expect(output).toMatch(
      /^chairlift: a KV cache of 98316 MiB .* cannot be set up: the device is out of memory.* Lower --kv-cache-memory.* --device cpu$/m,
    );
  });

  it('says why it cannot start', async () => {
    const env = { ...cache.env, VK_DRIVER_FILES: '/nowhere' };
    const { code, output } = await runToEnd(['serve', '--port', '0', '--device', 'webgpu'], env);
    expect(code).toBe(1);
    expect(output).toContain('--device webgpu does not work here: no Vulkan driver was found');
  });

  it('has no PagedAttention without float16', async () => {
    const flags = ['serve', '--port', '0', '--device', 'webgpu', '--attention', 'paged'];
    const { code, output } = await runToEnd(flags, { ...cache.env, ...driver });
    expect(code).toBe(2);
    expect(output).toContain('needs a kernel for PagedAttention in float16, and webgpu has none');
  });

  it('is not what auto picks, since the driver computes on the CPU, and answers as the CPU does', async () => {
    const onCpu = await startServer([...MODEL, '--graph-capture'], { ...cache.env, ...driver });
    expect(onCpu.output()).toMatch(/on cpu, [\s\S]*cpu picked: .*; --graph-capture is for WebGPU/);
    expect(undisturbed.text.length).toBeGreaterThan(8);
    expect((await ask(question, undefined, onCpu)).text).toBe(undisturbed.text);
    await onCpu.stop();
  });
});
