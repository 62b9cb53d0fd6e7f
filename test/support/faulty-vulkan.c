/*
 * A Vulkan driver that hands everything to SwiftShader, except that a file in the folder
 * FAULTY_VULKAN_DIR makes one call fail as it does on a GPU in trouble, and is removed by it:
 * "lost" the next submission to the queue, "oom" the next allocation of memory.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT_OF_DEVICE_MEMORY = -2, DEVICE_LOST = -4 };

typedef void (*Function)(void);
typedef Function (*Lookup)(void *, const char *);
typedef int32_t (*Submit)(void *, uint32_t, const void *, uint64_t);
typedef int32_t (*Allocate)(void *, const void *, const void *, void *);

static Lookup device_lookup;
static Submit submit;
static Allocate allocate;

static int is_due(const char *fault) {
  char path[4096];
  const char *folder = getenv("FAULTY_VULKAN_DIR");
  if (folder == NULL) return 0;
  snprintf(path, sizeof path, "%s/%s", folder, fault);
  return unlink(path) == 0;
}

static int32_t faulty_submit(void *queue, uint32_t count, const void *infos, uint64_t fence) {
  return is_due("lost") ? DEVICE_LOST : submit(queue, count, infos, fence);
}

static int32_t faulty_allocate(void *device, const void *info, const void *host, void *memory) {
  return is_due("oom") ? OUT_OF_DEVICE_MEMORY : allocate(device, info, host, memory);
}

static Function replaced(const char *name, Function real);

static Function faulty_device_lookup(void *device, const char *name) {
  return replaced(name, device_lookup(device, name));
}

static Function replaced(const char *name, Function real) {
  if (real == NULL) return NULL;
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
    device_lookup = (Lookup)real;
    return (Function)faulty_device_lookup;
  }
  if (strcmp(name, "vkQueueSubmit") == 0) {
    submit = (Submit)real;
    return (Function)faulty_submit;
  }
  if (strcmp(name, "vkAllocateMemory") == 0) {
    allocate = (Allocate)real;
    return (Function)faulty_allocate;
  }
  return real;
}

static void *of_driver(const char *name) {
  static void *driver;
  if (driver == NULL) driver = dlopen(SWIFTSHADER, RTLD_NOW | RTLD_LOCAL);
  return driver == NULL ? NULL : dlsym(driver, name);
}

/* What the Vulkan loader asks of a driver. */

Function vk_icdGetInstanceProcAddr(void *instance, const char *name) {
  Lookup lookup = (Lookup)of_driver("vk_icdGetInstanceProcAddr");
  return lookup == NULL ? NULL : replaced(name, lookup(instance, name));
}

Function vk_icdGetPhysicalDeviceProcAddr(void *instance, const char *name) {
  Lookup lookup = (Lookup)of_driver("vk_icdGetPhysicalDeviceProcAddr");
  return lookup == NULL ? NULL : lookup(instance, name);
}

int32_t vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
  int32_t (*negotiate)(uint32_t *) = of_driver("vk_icdNegotiateLoaderICDInterfaceVersion");
  return negotiate == NULL ? 0 : negotiate(version);
}
