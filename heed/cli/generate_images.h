// heed generate with a model of images: a picture of what it draws.
#pragma once

#include <string>

#include "heed/cli/program.h"
#include "heed/models/directory.h"
#include "heed/tasks/painter.h"

namespace heed::cli {

struct ImageOptions {
  std::string out, of_class, complete;
  int64_t images = 16;
};
void add_image_flags(CLI::App* app, ImageOptions& options);

// Whether the model draws. Flags that are for the other kind of model are refused.
bool draws_images(const CLI::App* app, const models::ModelFolder& model);
void generate_images(const CLI::App* app, const std::string& model, const ImageOptions& options,
                     const tasks::PaintConfig& config, const Common& common);

}  // namespace heed::cli
