import type { PickVariant } from '../../model/export/export-folder.ts';
import { chooseDevice, type DeviceFlags } from './device.ts';
import { pickVariant } from './export-precision.ts';
import type { Options } from '../../settings/options.ts';

export type VariantOptions = Options<'precision'> & DeviceFlags;

/** Which of an export's graphs is downloaded, for the device that it is to run on. */
export function variantFor(options: VariantOptions): PickVariant {
  return async (choice) =>
    pickVariant(options.precision, await chooseDevice(options, choice.config), choice);
}
