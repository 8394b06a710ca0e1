/* Everything that libremora offers, from the bottom up. */
#ifndef REMORA_REMORA_H
#define REMORA_REMORA_H

#include <remora/error.h>
#include <remora/job.h>
#include <remora/lock.h>
#include <remora/object.h>
#include <remora/sc.h>
#include <remora/sv.h>
#include <remora/wait.h>

#endif
